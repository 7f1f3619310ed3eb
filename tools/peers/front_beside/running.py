"""Programs that are started for a round, and ended with it."""

import subprocess


def start(stack, command, environment, ready=False):
    """Starts a program, which is ended with the round. `ready`: waits for its first line."""
    output = subprocess.PIPE if ready else subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=output, text=True,
                               stderr=None if ready else subprocess.DEVNULL)
    stack.callback(end, process)
    if ready and not process.stdout.readline():
        raise SystemExit(f"{' '.join(command)} has ended before it was ready")
    return process


def end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
