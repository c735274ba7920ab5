/* How much memory this process has ever had, in MiB (VmHWM of /proc/self/status). */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>

static inline long peak_mib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib < 0 ? -1 : kib / 1024;
}

#endif
