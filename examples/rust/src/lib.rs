//! A bank whose transfers lock the accounts in the order in which the caller names them.
//!
//! Two transfers between the same accounts in opposite directions can each take one lock and wait
//! for the other. The feature `fixed` takes the locks in the order of the account numbers instead.

use std::sync::Mutex;

/// Accounts by number.
pub struct Bank {
    accounts: Vec<Mutex<i64>>,
}

impl Bank {
    /// A bank with these balances.
    pub fn new(balances: &[i64]) -> Bank {
        Bank { accounts: balances.iter().map(|&balance| Mutex::new(balance)).collect() }
    }

    /// Moves `amount` from one account to another.
    #[cfg(not(feature = "fixed"))]
    pub fn transfer(&self, from: usize, to: usize, amount: i64) {
        let mut source = self.accounts[from].lock().unwrap();
        let mut destination = self.accounts[to].lock().unwrap();
        *source -= amount;
        *destination += amount;
    }

    /// Moves `amount` from one account to another.
    #[cfg(feature = "fixed")]
    pub fn transfer(&self, from: usize, to: usize, amount: i64) {
        let mut low = self.accounts[from.min(to)].lock().unwrap();
        let mut high = self.accounts[from.max(to)].lock().unwrap();
        let (source, destination) =
            if from < to { (&mut *low, &mut *high) } else { (&mut *high, &mut *low) };
        *source -= amount;
        *destination += amount;
    }

    /// The sum of all balances.
    pub fn total(&self) -> i64 {
        self.accounts.iter().map(|account| *account.lock().unwrap()).sum()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn opposite_transfers() {
        let bank = super::Bank::new(&[100, 100]);
        std::thread::scope(|scope| {
            scope.spawn(|| bank.transfer(0, 1, 10));
            scope.spawn(|| bank.transfer(1, 0, 20));
        });
        assert_eq!(bank.total(), 200);
    }
}
