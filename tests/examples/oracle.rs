//! Prints one generated program of the oracle and its outcomes: `SEED NUMBER [CAP]`.

use tests::oracle::{CAP, c, of_the_whole_api};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|one| one.parse().expect("a number"));
    let (seed, number) = (arguments.next().unwrap_or(1), arguments.next().unwrap_or(0));
    let made = of_the_whole_api(seed, number, arguments.next().unwrap_or(CAP));
    println!("{}", c::print([&made.program]));
    println!("// {} schedules", made.schedules);
    for (outcome, preemptions) in &made.survey.outcomes {
        println!("// {outcome}, with {preemptions} preemptions");
    }
}
