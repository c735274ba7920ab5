# Read by run and by tests/apps/random: how the random programs are built and run. Expects here, prefix and work.
# shellcheck shell=bash

# What today's library is known to fail at; both are empty once it is mended.
known_steps=idup
known_parameters=coll_tuned_online

compile() { # NAME
    "$prefix/bin/mpicc" -O1 -Wall -Wextra -Wno-stringop-overread -Wno-stringop-overflow \
        "$here"/{main,layout,area,jobs,families,messages,exchange,collectives,reductions}.c -o "$work/$1" || {
        echo "FAIL random programs: do not compile"
        return 1
    }
}

hunt() { # NAME HUNT-ARGUMENT…
    local name=$1; shift
    nice "$here/hunt" --prefix "$prefix" --program "$work/$name" --avoid "$known_parameters" "$@" -- \
        ${known_steps:+"without=$known_steps"}
}
