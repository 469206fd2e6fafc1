//! The identity of this build of Heddle.

use crate::symbols;
use std::path::Path;
use std::sync::OnceLock;

/// The package version and the build id of the running executable, which contains the runtime.
///
/// Two builds of the same version differ here, so that files that only one build understands are
/// not read by another.
#[must_use]
pub fn this_build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        match symbols::build_id(Path::new("/proc/self/exe")) {
            Ok(id) => format!("{version}, build {}", &id[..id.len().min(24)]),
            Err(_) => version.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::this_build;

    #[test]
    fn the_identity_contains_the_version_and_the_build_id() {
        let (version, id) = this_build().split_once(", build ").expect("a build id");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert!(id.len() >= 16, "{id}");
    }
}
