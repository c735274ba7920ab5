# The words of the lists of the suites; tests/run reads it, and a list after it.
# shellcheck shell=bash
#
#   run PROGRAM RANKS [MPIEXEC-ARGUMENT…] [-- ARGUMENT…]
#                           runs a program that prints its own checks, and shows them. RANKS may be `alone`: without mpiexec
#   fails WHAT PATTERN PROGRAM RANKS …
#                           the same, but the job must end with an error, and its output must have PATTERN (grep)
#   start PROGRAM RANKS …   starts a program; $job is its process. begin also waits until it prints "running"
#   ends WHAT PATTERN       waits for what was started; then as fails
#   finishes WHAT           waits for what was started, which must end well
#   killed [WHAT]           kills the rank 1 that begin has seen running; the job must end and name it
#   leaves_one WHAT PROGRAM RANKS …
#                           a job that fails since one of its processes ends without a word: the others have good checks, and end
#   job PROGRAM RANKS …     runs a program without a judgement: $status, $work/log and $work/errors tell of it
#   try WHAT COMMAND…       one check: the command succeeds
#   check WHAT YES [SEEN]   one check of the list itself, which is good where YES is "yes"
#   other WHERE SUITE …     runs another suite or programs of it (tests/run); WHERE stands before each of its lines
#   skip WHY                a check that cannot be done here
#   has_cxx WHAT            whether a C++ compiler is here; a skip of what needs it where not
#   wanted NAME             whether NAME runs: it is among the programs that tests/run was given, or those are all
#   needed NAME…            the same for a part of a list that is not one program
#
# A program is NAME.c or NAME.cpp in the folder of the suite, or SUITE/NAME. What these calls read:
#
#   what=TEXT               stands before the name in each line
#   brief=yes               one line for a program, as its checks are those of another suite
#   once=yes                equal lines of several ranks are one
#   checks=N                so many checks must be "ok"; else at least one
#   limit=SECONDS           ends a program that hangs (default: 120)
#   flags="FLAG…"           for the compiler
#   SPENT=yes               shows what each program costs
#   around=(COMMAND…)       starts mpiexec      before=(COMMAND…)   starts each rank

work=$(mktemp -d)
bin=${ALHENA_TEST_BIN:-$work/bin}
failed=0 ran=0
what= brief= once= checks= flags= around=() before=()
at_exit=(rm -rf "$work")
trap '"${at_exit[@]}"' EXIT

# With SPENT=yes: the seconds of processors that children have taken since the last call, and by what.
spent() { # WHAT
    local now
    [ -n "${SPENT:-}" ] || return 0
    times > "$work/times"
    now=$(awk 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m"); print 60 * (u[1] + s[1]) + u[2] + s[2] }' "$work/times")
    awk -v now="$now" -v before="${spent_before:-0}" -v what="$1" 'BEGIN { printf "   %.1f s of a processor: %s\n", now - before, what }'
    spent_before=$now
}

wanted() { # NAME
    case ",$only," in ,, | *",${1##*/},"*) ran=1 ;; *) return 1 ;; esac
}

needed() { # NAME…
    local name
    for name; do ! wanted "$name" || return 0; done
    return 1
}

skip() { echo "skip: $1"; }

has_cxx() { # WHAT
    command -v c++ > /dev/null || { skip "$1: no C++ compiler (c++) is installed"; return 1; }
}

# A check by the list itself.
check() { # WHAT YES [SEEN]
    if [ "$2" = yes ]; then
        echo "ok $1"
    else
        failed=1
        echo "FAIL $1${3:+: $3} (alone: tests/run $suite${only:+/$only})"
    fi
}

try() { # WHAT COMMAND…
    local name=$1; shift
    if "$@" > "$work/log" 2>&1; then
        check "$name" yes
    else
        tail -n 60 "$work/log"
        check "$name" no "$*"
    fi
}

# Compiles a program once, with $flags; $built is its path.
build() { # [SUITE/]PROGRAM
    local source=$suite/$1 compiler=mpicc
    case $1 in */*) source=$1 ;; esac
    built=$bin/$source${flags:+"$(tr -c '[:alnum:]\n' _ <<< "$flags")"}
    [ ! -x "$built" ] || return 0
    source=$tests/$source.c
    [ -e "$source" ] || source=${source}pp compiler=mpicxx
    mkdir -p "${built%/*}"
    # shellcheck disable=SC2086
    "$prefix/bin/$compiler" -O1 -Wall -Wextra -Wno-stringop-overread -pthread -I "$tests" -I "${source%/*}" $flags "$source" \
        -o "$built.$$" -lm && mv "$built.$$" "$built" && return
    failed=1
    echo "FAIL $1: does not compile"
    return 1
}

# Makes the array `command` of what the other calls are given.
compose() { # PROGRAM RANKS [MPIEXEC-ARGUMENT…] [-- ARGUMENT…]
    local own=() name=$1 ranks=$2; shift 2
    while [ $# != 0 ] && [ "$1" != -- ]; do own+=("$1"); shift; done
    [ $# = 0 ] || shift
    build "$name" || return 1
    command=("${around[@]}" timeout "${limit:-120}")
    [ "$ranks" = alone ] || command+=("$prefix/bin/mpiexec" -n "$ranks" "${own[@]}" "${more[@]}")
    command+=("${before[@]}" "$built" "$@")
    label=${what:+$what: }${name##*/}
    [ "$ranks" = alone ] || label="$label on $ranks"
    alone=$suite/${name##*/} with="${own[*]}${*:+ -- $*}"
}

job() { # PROGRAM RANKS …
    compose "$@" || { status=1; return 1; }
    "${command[@]}" > "$work/log" 2> "$work/errors" < /dev/null
    status=$?
    return 0
}

# Puts a name before each check.
named() { # NAME
    name=$1 awk '/^(ok|FAIL)( |$)/ { $1 = $1 " " ENVIRON["name"] ":" } { print }'
}

# One line of a failure with the command that repeats it, and the end of the job's output.
fail() { # LABEL
    failed=1
    echo "FAIL $1: exit status $status${with:+, with $with} (alone: tests/run $alone)"
    tail -n 20 "$work/errors"
}

# Whether the program has made all its checks.
enough() {
    if [ -n "$checks" ]; then [ "$(grep -c '^ok' "$work/log")" = "$checks" ]; else grep -q '^\(ok\|skip\)' "$work/log"; fi
}

run() { # PROGRAM RANKS …
    local good=no
    wanted "$1" || return 0
    job "$@" || return
    [ $status != 0 ] || ! enough || grep -q '^FAIL' "$work/log" || good=yes
    if [ -z "$brief" ]; then
        grep '^\(ok\|FAIL\|skip\)' "$work/log" | { if [ -n "$once" ]; then sort -u; else cat; fi; } |
            named "$label"
    elif [ $good = yes ]; then
        echo "ok $label"
    else
        grep '^FAIL' "$work/log"
    fi
    [ $good = yes ] || fail "$label"
    spent "$label"
}

# The last run must have ended with an error of this text.
ended() { # WHAT PATTERN
    if [ $status != 0 ] && [ $status != 124 ] && grep -q "$2" "$work/log" "$work/errors"; then
        echo "ok $1"
    else
        cat "$work/log"
        fail "$1"
    fi
}

fails() { # WHAT PATTERN PROGRAM RANKS …
    local meant=$1 pattern=$2; shift 2
    wanted "$1" || return 0
    job "$@" && ended "${what:+$what: }$meant" "$pattern"
}

start() { # PROGRAM RANKS …
    compose "$@" || return
    : > "$work/log"
    "${command[@]}" > "$work/log" 2> "$work/errors" < /dev/null &
    job=$!
}

begin() { # PROGRAM RANKS …
    start "$@" || return
    # As long as the job itself may take: on a busy machine it starts late.
    while ! grep -q running "$work/log" && kill -0 $job 2> /dev/null; do sleep 0.1; done
}

ends() { # WHAT PATTERN
    wait "$job"
    status=$?
    ended "$@"
}

killed() { # [WHAT]
    kill -KILL "$(sed -n 's/^running //p' "$work/log")"
    ends "a rank that is killed ends a job${1:+: $1}" "rank 1 .*signal 9\|rank 1 is lost"
}

leaves_one() { # WHAT PROGRAM RANKS …
    wanted "$2" || return 0
    job "${@:2}"
    label=$1
    named "$label" < "$work/log"
    grep -q '^ok' "$work/log" && [ $status != 124 ] || fail "$label"
}

finishes() { # WHAT
    wait "$job"
    status=$?
    if [ $status = 0 ] && enough && ! grep -q '^FAIL' "$work/log"; then
        echo "ok $1"
    else
        cat "$work/log"
        fail "$1"
    fi
}

other() { # WHERE SUITE[/PROGRAM…] [-- MPIEXEC-ARGUMENT…]
    local where=$1; shift
    ALHENA_TEST_BIN=$bin "${around[@]}" "$tests/run" "$@" > "$work/other" 2>&1 || failed=1
    named "$where" < "$work/other"
    spent "$where: $1"
}

conclude() {
    if [ $ran = 0 ] && [ -n "$only" ]; then
        echo "FAIL $suite has no program $only"
        failed=1
    fi
    exit $failed
}
