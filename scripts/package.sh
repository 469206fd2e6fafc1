#!/bin/sh
# Builds a tarball and a Debian package in target/package:
#
#     scripts/package.sh            # builds the binary with the profile `dist`
#     scripts/package.sh BINARY     # packages a binary that is already built
#
# Needs no network besides cargo's crates; the Debian package needs dpkg-deb.
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
    binary=$1
else
    cargo build --locked --profile dist --package explorer-ui
    binary=${CARGO_TARGET_DIR:-target}/dist/heddle
fi

version=$("$binary" --version | sed -n '1s/^heddle \([^ ]*\).*/\1/p')
# Equal contents give equal packages: files get the time of the last commit.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH="$epoch"
out=target/package
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# install_files PREFIX ZSH_DIRECTORY: the files below a prefix such as usr.
install_files() {
    install -D -m 755 "$binary" "$1/bin/heddle"
    # Another binary may be given without its companion.
    if [ -x "$(dirname "$binary")/cargo-heddle" ]; then
        install -m 755 "$(dirname "$binary")/cargo-heddle" "$1/bin/cargo-heddle"
    fi
    mkdir -p "$1/share/man/man1" "$1/share/bash-completion/completions" \
        "$1/$2" "$1/share/fish/vendor_completions.d"
    "$binary" man | gzip -9n >"$1/share/man/man1/heddle.1.gz"
    "$binary" completions bash >"$1/share/bash-completion/completions/heddle"
    "$binary" completions zsh >"$1/$2/_heddle"
    "$binary" completions fish >"$1/share/fish/vendor_completions.d/heddle.fish"
}

name=heddle-$version-x86_64-linux-gnu
install_files "$stage/$name" share/zsh/site-functions
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$stage/$name/"
cp -r docs examples "$stage/$name/"
rm -rf "$stage/$name"/examples/*/heddle-out "$stage/$name"/examples/rust/target
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" \
    -C "$stage" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"

if ! command -v dpkg-deb >/dev/null 2>&1; then
    echo "no Debian package: dpkg-deb is not installed" >&2
    exit 0
fi

# The newest version of glibc whose symbols the binary uses; the runtime inside needs 2.35.
glibc=2.35
if command -v readelf >/dev/null 2>&1; then
    used=$(readelf --version-info "$binary" | grep -o 'GLIBC_2[0-9.]*' | sed s/GLIBC_// | sort -Vu | tail -1)
    glibc=$(printf '%s\n%s\n' "$glibc" "$used" | sort -V | tail -1)
fi

root=$stage/deb
install_files "$root/usr" share/zsh/vendor-completions
install -d "$root/usr/share/doc/heddle" "$root/DEBIAN"
cp -r README.md docs examples "$root/usr/share/doc/heddle/"
rm -rf "$root"/usr/share/doc/heddle/examples/*/heddle-out \
    "$root"/usr/share/doc/heddle/examples/rust/target
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/heddle/changelog.gz"
{
    echo "Heddle is licensed under the MIT licence or the Apache licence 2.0, at your option."
    echo "On Debian systems the Apache licence is in /usr/share/common-licenses/Apache-2.0."
    echo
    cat LICENSE-MIT
} >"$root/usr/share/doc/heddle/copyright"
cat >"$root/DEBIAN/control" <<CONTROL
Package: heddle
Version: $version
Architecture: amd64
Maintainer: The Heddle developers <heddle@localhost>
Section: devel
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6 (>= $glibc), libgcc-s1
Recommends: gdb
Description: schedule explorer and debugger for multithreaded programs
 Heddle finds the thread schedules under which a C, C++ or Rust program
 fails, replays them exactly, explains them, and debugs them forwards and
 backwards.
CONTROL
find "$root" -exec touch --no-dereference --date="@$epoch" {} +
dpkg-deb --root-owner-group --build "$root" "$out/heddle_${version}_amd64.deb" >/dev/null
echo "$out/heddle_${version}_amd64.deb"
