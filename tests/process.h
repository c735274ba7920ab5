/* What the system knows of processes. */
#ifndef PROCESS_H
#define PROCESS_H

#include <dirent.h>
#include <stdio.h>

/* Descriptors, with some entries more that are always there. */
static inline int descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = 0;

    while (all && readdir(all))
        count++;
    if (all)
        closedir(all);
    return count;
}

/* Mappings. */
static inline int mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    int lines = 0, c;

    while (file && (c = getc(file)) != EOF)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

/* A line of /proc/self/status in KiB, or -1. */
static inline long status_kib(const char *format)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, format, &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

/* KiB in memory, the most there ever were, and KiB of addresses. */
static inline long resident(void) { return status_kib("VmRSS: %ld"); }
static inline long peak(void) { return status_kib("VmHWM: %ld"); }
static inline long mapped(void) { return status_kib("VmSize: %ld"); }

/* Whether a process has not ended; its parent may not have collected it yet. */
static inline int is_there(int pid)
{
    char path[64], state = 'Z';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        fclose(file);
    }
    return state != 'Z' && state != 'X';
}

#endif
