"""A small program that behaves like the control program of NVIDIA's MPS, and computes nothing.

As NVIDIA describes it: with -d it becomes a daemon that leaves its id and its socket in
CUDA_MPS_PIPE_DIRECTORY, and without it passes a command from stdin on to the daemon. A client is
whoever connects to the socket `control`; the first one starts a server, and `quit` ends all.
"""

import os
import sys

PROGRAM = "nvidia-cuda-mps-control"
_CODE = f"""\
#!{sys.executable} -S
import os, selectors, signal, socket, subprocess, sys

pipes, logs = os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]
pid_file = os.path.join(pipes, "{PROGRAM}.pid")


def listening(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(pipes, name))
    listener.listen()
    return listener


def daemon():
    os.setsid()
    control, commands = listening("control"), listening("control_privileged")
    with open(os.path.join(logs, "control.log"), "w") as log:
        log.write("sees " + os.environ.get("CUDA_VISIBLE_DEVICES", "every GPU") + "\\n")
    with open(pid_file, "w") as file:
        file.write(str(os.getpid()))
    server, clients = None, 0
    selector = selectors.DefaultSelector()
    for each in (control, commands):
        selector.register(each, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            connection, _ = key.fileobj.accept()
            if key.fileobj is control:
                server = server or subprocess.Popen(["sleep", "1000"])
                continue
            command = connection.recv(100).decode().strip()
            if command == "quit":
                if server:
                    server.kill()
                    server.wait()
                os.remove(pid_file)
                sys.exit()
            connection.sendall(f"{{server.pid}}\\n".encode() if server else b"\\n")
            connection.close()


if sys.argv[1:] == ["-d"]:
    if "REFUSES" in os.environ:
        with open(os.path.join(logs, "control.log"), "w") as log:
            log.write("the GPU belongs to another server\\n")
        sys.exit(1)
    if os.fork() == 0:
        daemon()
else:
    asked = socket.socket(socket.AF_UNIX)
    try:
        asked.connect(os.path.join(pipes, "control_privileged"))
    except OSError:
        sys.exit("Cannot find MPS control daemon process")
    asked.sendall(sys.stdin.read().encode())
    sys.stdout.write(asked.recv(100).decode())
"""


def put_on_path(folder):
    """Write the program into a folder, and return the PATH that finds it there."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / PROGRAM
    program.write_text(_CODE)
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
