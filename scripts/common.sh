# Read by the other scripts: where things are, and how a failure is printed.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
profile=${PROFILE:-release}
target_dir=${CARGO_TARGET_DIR:-$root/target}
# cargo calls the dev profile's folder "debug", and puts what is built for a named target below its name.
built=$target_dir/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}
case $profile in dev) built+=debug ;; *) built+=$profile ;; esac

# What runs on this machine while something is built for another one, or for release, is built as always.
host_cargo() { # ARGUMENT…
    env -u CARGO_BUILD_TARGET -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u RUSTC -u CARGO_PROFILE_RELEASE_LTO CARGO_TARGET_DIR="${HOST_TARGET_DIR:-$target_dir}" cargo "$@"
}

# absolute PATH: the same without a need for the present directory; it need not exist.
absolute() {
    case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac
}

# Whether what builds Alhena is here.
need_compilers() {
    local tool
    for tool in cc objcopy; do
        command -v $tool > /dev/null || die "looking for compilers" "there is no $tool in PATH" "run scripts/setup, or install gcc and binutils"
    done
    command -v cargo > /dev/null ||
        die "looking for Rust" "there is no cargo in PATH" "install it from https://rustup.rs; rust-toolchain.toml names the version"
}

# die STEP SEEN NEXT: the three lines every failure gets.
die() {
    printf 'alhena: %s failed\n  seen: %s\n  next: %s\n' "$1" "$2" "$3" >&2
    exit 1
}
