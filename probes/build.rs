//! Link options of the preloaded library.

fn main() {
    // Initialised before every other library, so that the environment is taken back before any
    // code of the program runs; bound at once, so that no lazy binding happens on a fiber.
    for option in ["-Wl,-z,initfirst", "-Wl,-z,now", "-Wl,-z,nodelete"] {
        println!("cargo::rustc-link-arg-cdylib={option}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
