//! Link options of the preloaded library.

fn main() {
    // `initfirst`: this library's initialiser runs before that of every other library, so that
    // Heddle's variables are removed from the environment before any code of the program runs.
    // `now`: all symbols are bound at load time, so that no lazy binding happens on a fiber.
    for option in ["-Wl,-z,initfirst", "-Wl,-z,now", "-Wl,-z,nodelete"] {
        println!("cargo::rustc-link-arg-cdylib={option}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
