"""What all checks of the oracle use: comparisons that are collected, and the note of what was called."""

import ctypes
import time

import pynvml as nvml

MIB = 1 << 20
called = set()
failures = []


def note_lookups():
    original = nvml._nvmlGetFunctionPointer

    def noting(name):
        called.add(name)
        return original(name)

    nvml._nvmlGetFunctionPointer = noting


def direct(name):
    """The function `name` itself, for what the bindings do not wrap."""
    return nvml._nvmlGetFunctionPointer(name)


def equal(what, found, expected):
    if found != expected:
        failures.append(f"{what}: found {found!r}, expected {expected!r}")


def within(what, found, low, high):
    if not low <= found <= high:
        failures.append(f"{what}: found {found!r}, expected {low!r} to {high!r}")


def refused(what, code, function, *arguments):
    try:
        found = function(*arguments)
    except nvml.NVMLError as error:
        equal(what, error.value, code)
    else:
        failures.append(f"{what}: found {found!r}, expected error {code}")


def wait_until(what, is_so):
    deadline = time.monotonic() + 10
    while not is_so():
        if time.monotonic() > deadline:
            failures.append(f"waited ten seconds for: {what}")
            return
        time.sleep(0.02)


def integer(name, *arguments, kind=ctypes.c_uint):
    """Calls a function whose last parameter takes a number, and returns code and number."""
    value = kind(0)
    code = direct(name)(*arguments, ctypes.byref(value))
    return code, value.value
