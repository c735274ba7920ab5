# Read by the scripts here: fetching sources, running a step, saying how it went.
# shellcheck shell=bash
#
# ALHENA_PREFIX names the installation under test (default: ./install of this checkout). ALHENA_PEER may name another
# MPI's prefix, whose figures are then printed beside ours. Sources and builds are kept under .apps/.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
prefix=${ALHENA_PREFIX:-$root/install}
peer=${ALHENA_PEER:-}
apps=$root/.apps
app=$(basename "$0")
failures=0

ok() { printf 'ok %s: %s\n' "$app" "$*"; }
skip() { printf 'skip: %s: %s\n' "$app" "$*"; }
fail() { printf 'FAIL %s: %s\n' "$app" "$*"; failures=$((failures + 1)); }
finish() { [ "$failures" = 0 ]; exit; }

[ -x "$prefix/bin/mpicc" ] || {
    fail "no installation in $prefix (make install PREFIX=$prefix, or set ALHENA_PREFIX)"
    exit 1
}
mkdir -p "$apps"

# Runs a command with its output in a log; prints the log's end when it fails.
quietly() { # LOG COMMAND…
    local log=$apps/$1.log; shift
    "$@" > "$log" 2>&1 || {
        tail -n 30 "$log"
        fail "$* (whole output: $log)"
        return 1
    }
}

# mpiexec of a prefix. Open MPI refuses root and more ranks than cores unless told otherwise.
run_under() { # PREFIX ARGUMENTS…
    local of=$1; shift
    local more=()
    if "$of/bin/mpiexec" --version 2>&1 | grep -q 'Open MPI\|OpenRTE\|PRRTE'; then
        more=(--oversubscribe)
    fi
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout --kill-after=10 "${APP_TIMEOUT:-600}" "$of/bin/mpiexec" "${more[@]}" "$@"
}

# apt-get for one Debian release, with lists and settings of its own, so that the system's stay as they are.
private_apt() { # RELEASE ARGUMENTS…
    local own=$apps/apt-$1
    mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
    echo "deb-src ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $1 main" > "$own/sources.list"
    shift
    apt-get -q -o Dir::Etc::SourceList="$own/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$own/lists" -o Dir::Cache="$own/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# Fetches a Debian source package into .apps/src/NAME/tree, once. Where a mirror has only the upstream archive, that is
# used as it is, after a check against the release's signed list. Where it lacks that, too, later releases are tried.
debian_source() { # NAME
    local name=$1 into=$apps/src/$1 release
    [ ! -e "$into/.complete" ] || return 0
    command -v apt-get > /dev/null && command -v dpkg-source > /dev/null || {
        skip "its source comes as a Debian package, and apt-get or dpkg-source (package dpkg-dev) is not here"
        return 1
    }
    for release in $(. /etc/os-release && echo "${VERSION_CODENAME:-stable}") trixie forky; do
        rm -rf "$into"
        mkdir -p "$into"
        if [ ! -e "$apps/apt-$release/updated" ]; then
            quietly "apt-update-$release" private_apt "$release" update || return 1
            touch "$apps/apt-$release/updated"
        fi
        if private_apt_in "$into" "$release" source --download-only "$name" > "$apps/$name-source.log" 2>&1; then
            quietly "$name-unpack" dpkg-source --no-check -x "$into"/*.dsc "$into/tree" || return 1
        else
            unpack_upstream "$into" "$release" "$name" || continue
        fi
        touch "$into/.complete"
        return 0
    done
    skip "its source could not be fetched (whole output: $apps/$name-source.log)"
    return 1
}

# Unpacks NAME_VERSION.orig.tar.* into tree/ when its checksum is the one in the release's signed list.
unpack_upstream() { # FOLDER RELEASE NAME
    (
        cd "$1" || exit 1
        archive=$(ls ./*.orig.tar.* 2> /dev/null | head -n 1)
        [ -n "$archive" ] || exit 1
        sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
        # From another folder: apt-get leaves out what lies where it runs.
        private_apt_in / "$2" source --print-uris "$3" 2> /dev/null | grep " ${archive#./} .* SHA256:$sum\$" > /dev/null || exit 1
        mkdir tree && tar -xf "$archive" -C tree || exit 1
        # Most archives hold one folder.
        only=$(ls tree)
        [ ! -d "tree/$only" ] || { mv tree outer && mv "outer/$only" tree && rmdir outer; }
    )
}

# Fetches a repository into .apps/src/NAME/tree, once.
git_source() { # NAME ADDRESS
    local into=$apps/src/$1
    [ ! -e "$into/.complete" ] || return 0
    command -v git > /dev/null || { skip "its source comes by git, which is not here"; return 1; }
    rm -rf "$into"
    git clone --quiet --depth 1 "$2" "$into/tree" > "$apps/$1-source.log" 2>&1 && touch "$into/.complete" || {
        skip "its source could not be fetched (whole output: $apps/$1-source.log)"
        return 1
    }
}

private_apt_in() { # FOLDER RELEASE ARGUMENTS…
    (cd "$1" && shift && private_apt "$@")
}

# A fresh copy of a source to build for one prefix: prints its folder.
build_copy() { # NAME PREFIX
    local copy=$apps/build/$1-$(basename "$2")
    rm -rf "$copy"
    mkdir -p "$(dirname "$copy")"
    cp -a "$apps/src/$1/tree" "$copy"
    echo "$copy"
}
