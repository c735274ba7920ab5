# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A Spack package. In a repository of yours:
#
#     spack repo create ~/spack-repo && cp -r packaging/spack/alhena ~/spack-repo/packages/
#     spack repo add ~/spack-repo && spack install alhena
#
# An installation that is there already: spack external find alhena

import os
import re

from spack.package import *


class Alhena(Package):
    """MPI with the MPI-5.0 standard ABI: programs built against the standard mpi.h run on it as they are."""

    tags = ["e4s", "core-packages"]
    executables = ["^alhena$"]
    maintainers = []

    license("MIT OR Apache-2.0")

    # The sources are those of a checkout: spack develop --path DIR alhena@=0.1.0
    version("0.1.0")

    variant("fortran", default=True, description="Compiler wrappers and modules for Fortran")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.95:", type="build")
    depends_on("binutils", type="build")
    depends_on("gmake", type="build")

    filter_compiler_wrappers("mpicc", "mpicxx", "mpifort", relative_root="bin")

    has_code = True

    @classmethod
    def determine_version(cls, exe):
        output = Executable(exe)("--version", output=str, error=str)
        match = re.match(r"alhena (\S+)", output)
        return match.group(1) if match else None

    def install(self, spec, prefix):
        # cargo fetches the crates in Cargo.lock; on a host without network, `cargo vendor` beforehand.
        make("install", f"PREFIX={prefix}")

    def setup_run_environment(self, env):
        bin = self.prefix.bin
        env.set("MPICC", os.path.join(bin, "mpicc"))
        env.set("MPICXX", os.path.join(bin, "mpicxx"))
        if os.path.exists(os.path.join(bin, "mpifort")):
            for name in ("MPIFC", "MPIF90"):
                env.set(name, os.path.join(bin, "mpifort"))
            env.set("MPIF77", os.path.join(bin, "mpif77"))
        # Settings of another MPI library would be read as ours.
        for name in ("OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX", "OMPI_CC", "OMPI_CXX", "OMPI_FC"):
            env.unset(name)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers read these; Spack's own wrappers choose the compiler.
        env.set("ALHENA_CC", spack_cc)
        env.set("ALHENA_CXX", spack_cxx)
        env.set("ALHENA_FC", spack_fc)
        env.set("ALHENA_F77", spack_f77)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")

    @property
    def libs(self):
        names = ["libmpi_abi"]
        if "fortran" in self.spec.last_query.extra_parameters:
            names.insert(0, "libmpifort_abi")
        return find_libraries(names, root=self.prefix, shared=True, recursive=True)
