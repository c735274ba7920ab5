# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A Spack package, for Spack 0.23 and 1.x. It lies in the packages folder of a repository of yours, which `spack repo create` makes:
#
#     spack repo create ~/spack-repo alhena && spack repo add ~/spack-repo
#     cp -r packaging/spack/alhena "$(dirname $(find ~/spack-repo -name repo.yaml))/packages/"
#
# From a checkout, or from an archive of it in the present folder (its checksum differs by commit):
#
#     spack dev-build --source-path $PWD alhena@0.2.0
#     git archive --prefix alhena-0.2.0/ -o alhena-0.2.0.tar.gz HEAD && spack install --no-checksum alhena
#
# An installation that is there already: spack external find alhena

import os
import re

try:
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:
    pass  # Before Spack 1.0 the next line brings it.

from spack.package import *


class Alhena(Package):
    """MPI with the MPI-5.0 standard ABI: programs built against the standard mpi.h run on it as they are."""

    # There is no place to fetch it from: the archive is made of a checkout, see above.
    url = f"file://{os.getcwd()}/alhena-0.2.0.tar.gz"
    manual_download = True
    download_instr = (
        "The archive is made of a checkout: git archive --prefix alhena-0.2.0/ -o alhena-0.2.0.tar.gz HEAD. "
        "Run Spack in the folder that has it, with --no-checksum."
    )

    executables = ["^alhena$"]

    license("MIT OR Apache-2.0")

    version("0.2.0")

    variant("fortran", default=True, description="Compiler wrappers and modules for Fortran")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.95:", type="build")
    depends_on("binutils", type="build")
    depends_on("gmake", type="build")

    filter_compiler_wrappers("mpicc", "mpicxx", "mpifort", relative_root="bin")

    @classmethod
    def determine_version(cls, exe):
        output = Executable(exe)("--version", output=str, error=str)
        match = re.match(r"alhena (\S+)", output)
        return match.group(1) if match else None

    def install(self, spec, prefix):
        # cargo fetches the crates in Cargo.lock; on a host without network, `cargo vendor` beforehand.
        make("install", f"PREFIX={prefix}", "FORTRAN=" + ("yes" if spec.satisfies("+fortran") else "no"))

    def setup_run_environment(self, env):
        bin = self.prefix.bin
        env.set("MPICC", join_path(bin, "mpicc"))
        env.set("MPICXX", join_path(bin, "mpicxx"))
        if os.path.exists(join_path(bin, "mpifort")):
            for name in ("MPIFC", "MPIF90"):
                env.set(name, join_path(bin, "mpifort"))
            env.set("MPIF77", join_path(bin, "mpif77"))
        # Settings of another MPI library would be read as ours.
        for name in ("OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX", "OMPI_CC", "OMPI_CXX", "OMPI_FC"):
            env.unset(name)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call the compilers of the package that is built.
        module = dependent_spec.package.module
        for name in ("cc", "cxx", "fc", "f77"):
            if hasattr(module, f"spack_{name}"):
                env.set(f"ALHENA_{name.upper()}", getattr(module, f"spack_{name}"))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        if os.path.exists(join_path(self.prefix.bin, "mpifort")):
            self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
            self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")

    @property
    def libs(self):
        names = ["libmpi_abi"]
        if "fortran" in self.spec.last_query.extra_parameters:
            names.insert(0, "libmpifort_abi")
        return find_libraries(names, root=self.prefix, shared=True, recursive=True)
