#!/bin/sh
# usage: packaging/containers/charliecloud.sh PREFIX IMAGE-FOLDER
#
# Copies the host's library into an unpacked image of Charliecloud, where its loader finds it: the image is this host's then.
#
#     ch-convert hello.sqfs /var/tmp/hello
#     packaging/containers/charliecloud.sh $HOME/alhena /var/tmp/hello
#     mpiexec -n 4 ch-run /var/tmp/hello -- hello
set -e
prefix=${1:?usage: $0 PREFIX IMAGE-FOLDER}
image=${2:?usage: $0 PREFIX IMAGE-FOLDER}
command -v ch-fromhost > /dev/null || {
    printf 'charliecloud.sh: injecting the library failed\n  seen: no ch-fromhost in PATH\n  next: install Charliecloud, or bind: ch-run -b %s:/opt/alhena\n' "$prefix" >&2
    exit 1
}
ch-fromhost --path "$prefix/lib/libmpi_abi.so.1" "$image"
