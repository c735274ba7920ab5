"""All ranks write one file through h5py, by themselves and collectively, close it and read it back."""

import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
path = sys.argv[1]
rows, columns = 8 * size, 96

with h5py.File(path, "w", driver="mpio", comm=comm) as file:
    plain = file.create_dataset("plain", (rows, columns), dtype="i8")
    mine = slice(8 * rank, 8 * rank + 8)
    plain[mine, :] = np.arange(8 * rank * columns, 8 * (rank + 1) * columns).reshape(8, columns)
    # Each rank has every size-th column: views that interleave.
    woven = file.create_dataset("woven", (rows, columns * size), dtype="f4", chunks=(4, 32))
    with woven.collective:
        woven[:, rank::size] = np.full((rows, columns), rank + 0.5, dtype="f4")
    file.attrs["ranks"] = size
    group = file.create_group("of all")
    for other in range(size):
        part = group.create_dataset(str(other), (7,), dtype="u1")
        if other == rank:
            part[...] = np.arange(7) + rank

with h5py.File(path, "r", driver="mpio", comm=comm) as file:
    assert file.attrs["ranks"] == size
    plain = file["plain"]
    with plain.collective:
        got = plain[:, :]
    assert (got == np.arange(rows * columns).reshape(rows, columns)).all()
    next_rank = (rank + 1) % size
    assert (file["woven"][:, next_rank::size] == next_rank + 0.5).all()
    for other in range(size):
        assert (file["of all"][str(other)][:] == np.arange(7) + other).all()

if rank == 0:
    with h5py.File(path, "r") as file:
        assert file["woven"].shape == (rows, columns * size)
    print("ok")
