"""The manifests of packaging/kubernetes: their fields, and what runs in their pods, as far as one host can play a cluster."""
import os
import re
import subprocess

from harness import HERE, PREFIX, RANK, Skip, environment, expect, finish, job, start, work

FOLDER = os.path.join(HERE, "..", "..", "packaging", "kubernetes")
STEPS = ["init", "barrier", "who", "finalize"]


def cases():
    return [
        ("Kubernetes: the MPI operator's host files and variables", operator),
        ("Kubernetes: the manifest for the MPI operator", manifest),
        ("Kubernetes: plain jobs whose workers call", plain_jobs),
    ]


def documents(name):
    try:
        import yaml
    except ImportError:
        raise Skip("Python has no yaml") from None
    with open(os.path.join(FOLDER, name)) as file:
        return list(yaml.safe_load_all(file))


def all_there(result, size=4):
    expect(result.code == 0 and result.lines == [f"rank {r} of {size} app 0" for r in range(size)], result)


def operator():
    """What the operator writes for each value of mpiImplementation."""
    stub = os.path.join(work, "ssh-of-pods")
    with open(stub, "w") as file:
        # Pods are played by this host. What the operator adds to ssh's arguments comes first.
        file.write("#!/bin/sh\nwhile :; do case $1 in -o) shift 2 ;; -*) shift ;; *) break ;; esac; done\n"
                   f'echo "$1" >> {work}/pods\nshift\nexec sh -c "$*"\n')
    os.chmod(stub, 0o755)
    path = os.path.join(work, "operator-hostfile")
    pods = [f"hello-worker-{number}.hello.default.svc" for number in range(2)]
    for form, variables in [
        ("slots", {"OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": path,
                   "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots": "2"}),
        ("colon", {"I_MPI_HYDRA_HOST_FILE": path, "I_MPI_PERHOST": "2"}),
        ("colon", {"HYDRA_HOST_FILE": path, "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"}),
    ]:
        with open(path, "w") as file:
            file.writelines(pod + (" slots=2\n" if form == "slots" else ":2\n") for pod in pods)
        open(f"{work}/pods", "w").close()
        all_there(job("-n", 4, "-launcher-exec", stub, RANK, *STEPS, env={**variables, "K_MPI_JOB_ROLE": "launcher"}))
        with open(f"{work}/pods") as file:
            expect(sorted(file.read().split()) == pods, "a daemon for each pod")


def manifest():
    (job_of,) = documents("mpijob.yaml")
    expect(job_of["apiVersion"] == "kubeflow.org/v2beta1" and job_of["kind"] == "MPIJob", job_of)
    spec = job_of["spec"]
    known = {"slotsPerWorker", "runLauncherAsWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath",
             "launcherCreationPolicy", "mpiImplementation"}
    expect(set(spec) <= known, set(spec) - known)
    expect(spec["mpiImplementation"] in ("OpenMPI", "Intel", "MPICH"), spec)
    expect(spec["launcherCreationPolicy"] in ("AtStartup", "WaitForWorkersReady"), spec)
    expect(spec["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All"), spec)
    replicas = spec["mpiReplicaSpecs"]
    expect(set(replicas) == {"Launcher", "Worker"} and replicas["Launcher"]["replicas"] == 1, replicas)
    command = replicas["Launcher"]["template"]["spec"]["containers"][0]["command"]
    ranks = int(command[command.index("-n") + 1])
    expect(ranks == spec["slotsPerWorker"] * replicas["Worker"]["replicas"], command)
    expect(command[0] == "mpiexec", command)


def plain_jobs():
    """The commands of the manifest, with another token file, port and program."""
    service, launcher, workers = documents("jobs.yaml")
    port = service["spec"]["ports"][0]["port"]
    expect(service["spec"]["selector"] == {"job-name": launcher["metadata"]["name"]}, "the service's pod")
    container = lambda document: document["spec"]["template"]["spec"]["containers"][0]
    for document in (launcher, workers):
        (mount,) = container(document)["volumeMounts"]
        (volume,) = document["spec"]["template"]["spec"]["volumes"]
        expect(mount["name"] == volume["name"] and mount["mountPath"] == "/etc/alhena", document)
        expect(volume["secret"]["defaultMode"] == 0o400, "no other user reads the secret")
    token = os.path.join(work, "secret-token")
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o400), "w") as file:
        file.write(os.urandom(16).hex())
    command = container(launcher)["command"]
    expect(command[0] == "mpiexec" and str(port) in command, command)
    place = {"/etc/alhena/token": token, str(port): "0"}
    words = [place.get(word, word) for word in command[1:]]
    process = start(*words[:-1], RANK, *STEPS)
    found = re.search(r":(\d+)[,:]", process.stderr.readline().decode())
    calling = container(workers)["command"]
    expect(calling[2] == f"{service['metadata']['name']}:{port}", calling)
    calling = [os.path.join(PREFIX, "bin", calling[0]), calling[1], f"localhost:{found[1]}", calling[3],
               place[calling[4]]]
    count = workers["spec"]["completions"]
    others = [subprocess.Popen(calling, env=environment(), cwd=work) for _ in range(count)]
    all_there(finish(process))
    expect([other.wait(60) for other in others] == [0] * count, "workers end well")
