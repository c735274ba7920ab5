/* Checks of the test programs: one line each, "ok NAME" or "FAIL NAME: what was seen". */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int check_failures;

static inline void check(int good, const char *name, long seen)
{
    if (good)
        printf("ok %s\n", name);
    else
        printf("FAIL %s: saw %ld\n", name, seen);
    fflush(stdout);
    check_failures += !good;
}

static inline void check_eq(long seen, long expected, const char *name)
{
    check(seen == expected, name, seen);
}

/* For integers and handles alike. */
#define CHECK_EQ(seen, expected, name) check_eq((long)(seen), (long)(expected), name)

#endif
