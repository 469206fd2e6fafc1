//! Transfers in opposite directions keep the total.

fn main() {
    let bank = bank::Bank::new(&[100, 100]);
    std::thread::scope(|scope| {
        scope.spawn(|| bank.transfer(0, 1, 10));
        scope.spawn(|| bank.transfer(1, 0, 20));
    });
    assert_eq!(bank.total(), 200);
}
