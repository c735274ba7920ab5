# Read by list, by tests/remote and by tests/apps/random: how the random programs are built and run. Expects here, prefix and work.
# shellcheck shell=bash

# Steps and parameters that today's library is known to fail at, separated by commas; all: programs of threads are left
# out as a whole.
known_steps=
known_threads=
known_parameters=

sources_of() { # NAME
    case $1 in
    threads | sessions | meetings) echo "$1" ;;
    *) echo main layout area jobs families messages exchange collectives reductions ;;
    esac
}

compile() { # NAME
    # shellcheck disable=SC2046
    "$prefix/bin/mpicc" -O1 -pthread -Wall -Wextra -Wno-stringop-overread -Wno-stringop-overflow \
        $(printf "$here/%s.c " $(sources_of "$1")) -o "$work/$1" || {
        echo "FAIL random programs: $1 does not compile"
        return 1
    }
}

hunt() { # NAME HUNT-ARGUMENT…
    local name=$1 known=$known_steps more=(); shift
    [ "$name" != threads ] || known=$known_threads more=(--threads)
    nice "$here/hunt" --prefix "$prefix" --program "$work/$name" --avoid "$known_parameters" "${more[@]}" "$@" -- \
        ${known:+"without=$known"}
}
