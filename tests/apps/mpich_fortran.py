"""Compiles the Fortran programs of MPICH's suite: directories f77, f90 and f08, some programs with a half in C."""
import os
import re
import shutil
import subprocess

LANGUAGES = ["f77", "f90", "f08"]
PARTS = ["attr", "coll", "comm", "datatype", "ext", "f90types", "info", "init", "io", "misc", "profile", "pt2pt", "rma", "spawn", "timer", "topo"]
DIRECTORIES = [f"{language}/{part}" for language in LANGUAGES for part in PARTS]

# Integers of MPI's kinds, as the suite's configure writes them into the headers of Fortran 77.
KINDS = {"@F77_MPI_ADDRESS@": "INTEGER(KIND=MPI_ADDRESS_KIND)", "@F77_MPI_OFFSET@": "INTEGER(KIND=MPI_OFFSET_KIND)",
         "@F77_MPI_INTEGER@": "INTEGER"}
# Fortran 77 passes buffers of any type to one procedure.
FLAGS = ["-w", "-O1", "-fallow-argument-mismatch", "-fallow-invalid-boz"]


def language_of(case):
    """The interface of a case, or None where it is in C."""
    return case.directory[:3] if case.directory[:3] in LANGUAGES and case.directory[3:4] == "/" else None


class Sources:
    """Where the files of a directory are: as they come, copied from another directory, or made here."""

    def __init__(self, suite, build, directory):
        self.suite, self.directory = suite, directory
        self.language, self.part = directory.split("/")
        self.own = os.path.join(build, "fortran", directory)
        self.folders = [self.own, *[os.path.join(suite, language, self.part) for language in (self.language, "f90", "f77")]]
        if self.part == "rma":
            # Its makefile has -I../attr for attributes of windows.
            self.folders.append(os.path.join(suite, "f77", "attr"))
        if not os.path.isdir(self.own):
            os.makedirs(self.own)
            self.headers()
            if self.part == "io":
                self.merged()

    def headers(self):
        for folder in self.folders[1:]:
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                if name.endswith(".h.in"):
                    text = open(os.path.join(folder, name)).read()
                    for word, kind in KINDS.items():
                        text = text.replace(word, kind)
                    open(os.path.join(self.own, name[:-3]), "w").write(text)

    def merged(self):
        """Programs that the suite's own tool makes of a template and its parts."""
        names = ["ioharness.defn", "ioharness.tlt"]
        for name in names:
            shutil.copy(self.find(name), self.own)
        if self.language == "f90":
            # As its makefile does, of those for Fortran 77.
            edits = [["s/filename=\"\\(.*\\)f.f\"/filename=\"\\1f90.f90\"/g", "s/include.*iooffset.*/integer (kind=MPI_OFFSET_KIND)offset/g"],
                     ["s/include.*mpif.*/use mpi/g", "s/fheader/f90header/g", "s/^C/!/g", "/implicit *none/d"]]
            for name, edit in zip(names, edits):
                subprocess.run(["sed", "-i", *[word for each in edit for word in ("-e", each)], os.path.join(self.own, name)], check=True)
        maint = os.path.join(self.suite, "maint")
        # Its first line awaits the suite's configure.
        tool = os.path.join(self.own, "testmerge")
        open(tool, "w").writelines(open(f"{maint}/testmerge.in").readlines()[1:])
        subprocess.run(["perl", tool, f"-defn={maint}/common.defn", *names], cwd=self.own, check=True,
                       stdout=subprocess.DEVNULL)

    def find(self, name):
        paths = (os.path.join(folder, name) for folder in self.folders)
        return next((path for path in paths if os.path.exists(path)), None)

    def of(self, program):
        """The paths of a program's files; None where one is missing."""
        makefile = open(os.path.join(self.suite, self.directory, "Makefile.am")).read()
        named = re.search(rf"^(?:nodist_)?{program}_SOURCES *= *(.*)$", makefile, re.M)
        names = named.group(1).split() if named else [program + (".f" if self.language == "f77" else ".f90")]
        found = [self.find(name) for name in names]
        return None if None in found else found


def compile_program(suite, build, prefix, case):
    """Compiles a program; None, or the compiler's output."""
    sources = Sources(suite, build, case.directory)
    files = sources.of(case.program)
    if files is None:
        return "a file of its source is not there"
    into = os.path.join(build, "bin", case.path)
    os.makedirs(os.path.dirname(into), exist_ok=True)
    # Files of modules go where the compiler runs.
    work = into + ".d"
    os.makedirs(work, exist_ok=True)
    # Some name the header by its place two folders up.
    include = [f"-I{build}/include", f"-I{suite}/include", f"-I{build}/fortran/{sources.language}"]
    in_c = [path for path in files if path.endswith(".c")]
    in_fortran = [path for path in files if not path.endswith(".c")]
    utility = {"f77": "mtest_f77.f", "f90": "mtest_f90.f90", "f08": "mtest_f08.f90"}[sources.language]
    commands = [[f"{prefix}/bin/mpicc", "-w", "-O1", "-DF77_NAME_LOWER_USCORE", "-DHAVE_CONFIG_H", *include, "-c", *in_c]] if in_c else []
    objects = [os.path.basename(path)[:-2] + ".o" for path in in_c]
    if in_fortran:
        commands.append([f"{prefix}/bin/mpifort", *FLAGS, *[f"-I{folder}" for folder in sources.folders],
                         f"-I{suite}/{sources.language}/include", os.path.join(suite, "util", utility), *reversed(in_fortran), *objects,
                         "-o", into])
    else:
        utilities = [f"{build}/util/.libs/{name}.a" for name in ("libmtest", "libmtest_thread", "libmtest")]
        commands.append([f"{prefix}/bin/mpicc", *objects, *utilities, "-lpthread", "-lm", "-o", into])
    try:
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, cwd=work, env={**os.environ, "ALHENA_FC": "gfortran"})
            if done.returncode != 0:
                return done.stderr.strip()[-600:]
    finally:
        shutil.rmtree(work)
    return None
