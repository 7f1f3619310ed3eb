"""Congestion controllers written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar, overload

from ._bentpipe import (
    Ack,
    ControllerConfig,
    EcnCe,
    Loss,
    PathChange,
    Restart,
    SentPacket,
)
from ._bentpipe import register_controller as _register

_Class = TypeVar("_Class", bound="type[Controller]")


class Controller:
    """Base class of congestion controllers.

    The engine creates one object for each sender (both ends of a connection send), calls the
    methods that the class overrides, and reads the attributes after each call. It does not call
    methods that are not overridden.

    Sizes are in bytes, rates in bit/s. Times are integers in nanoseconds since the start of the
    run, in attributes whose names end in ``_ns``.

    For each ACK the engine calls :meth:`on_packets_acked`, then :meth:`on_round` if it starts a
    round trip, then :meth:`on_ecn_ce` and :meth:`on_packets_lost` if it reports ECN-CE or causes
    losses to be declared.

    Attributes:
        config: Configuration of the connection.
        cwnd: Congestion window, 1 or more. Fractions are cut off.
        ssthresh: Slow-start threshold; ``None`` before the first one is set.
        pacing_rate: Pacing rate; ``None`` leaves it to the sender (RFC 9002 §7.7).
        in_slow_start: Whether the controller searches for the capacity of the path; ``None``
            stands for a window below the threshold.
        phase: Name of the current phase in time series and qlog; ``None`` stands for
            ``slow start`` or ``congestion avoidance``.
    """

    #: Parameters that scenarios can set (``parameters.NAME = { … }``): the default, or default,
    #: lowest and highest value. Their values are in ``config.parameters``.
    parameters: ClassVar[Mapping[str, float | tuple[float, float, float]]] = {}

    config: ControllerConfig
    cwnd: float
    ssthresh: float | None = None
    pacing_rate: float | None = None
    in_slow_start: bool | None = None
    phase: str | None = None

    def __init__(self, config: ControllerConfig) -> None:
        """Start with the initial window."""
        self.config = config
        self.cwnd = config.initial_cwnd

    def on_packet_sent(self, packet: SentPacket) -> None:
        """Handle a packet that was sent."""

    def on_packets_acked(self, ack: Ack) -> None:
        """Handle newly acknowledged packets."""

    def on_packets_lost(self, loss: Loss) -> None:
        """Handle packets that were declared lost."""

    def on_ecn_ce(self, ecn_ce: EcnCe) -> None:
        """Handle packets that arrived with ECN-CE: ``ecn_ce.marked`` of them, if it is known."""

    def on_round(self, ack: Ack) -> None:
        """Handle the first ACK of a round trip."""

    def on_timeout(self, now_ns: int) -> None:
        """Handle an expired probe timeout, which is not yet a sign of loss."""

    def on_spurious_loss(self, now_ns: int) -> None:
        """Handle the report that all losses of the last reduction were spurious."""

    def on_path_change(self, change: PathChange) -> None:
        """Handle a path change that the local endpoint has learned of."""

    def on_mtu_update(self, mtu: int) -> None:
        """Handle a change of the maximum packet size."""

    def restart(self, to: Restart) -> None:
        """Continue from the window and threshold that a slow start or the sender sets.

        This is called even if it is not overridden.
        """
        self.cwnd = to.cwnd
        if to.ssthresh is not None:
            self.ssthresh = to.ssthresh


@overload
def register_controller(name: str) -> Callable[[_Class], _Class]: ...
@overload
def register_controller(name: str, controller: _Class) -> _Class: ...
def register_controller(
    name: str, controller: _Class | None = None
) -> _Class | Callable[[_Class], _Class]:
    """Register a class of controllers, so that scenarios of this process can name it.

    ::

        @bentpipe.register_controller("half")
        class Half(bentpipe.Controller):
            def on_packets_lost(self, loss):
                self.cwnd = self.ssthresh = max(self.cwnd // 2, 2 * self.config.mtu)

    It is a congestion controller for QUIC and TCP from then on. Registering another class under
    the same name replaces it.

    Args:
        name: Lower-case letters, digits, ``-`` and ``+``; not the name of a built-in algorithm.
        controller: The class. Without it, this is a decorator.
    """
    if controller is None:
        return lambda decorated: register_controller(name, decorated)
    if not (isinstance(controller, type) and issubclass(controller, Controller)):
        raise TypeError(
            f"{controller!r} is not a class of controllers; allowed: a subclass of "
            "bentpipe.Controller"
        )
    about = (controller.__doc__ or controller.__qualname__).strip().splitlines()[0]
    parameters = [_parameter(key, value) for key, value in controller.parameters.items()]
    _register(name, about, controller, Controller, parameters)
    return controller


def _parameter(
    name: str, value: float | tuple[float, float, float]
) -> tuple[str, float, float, float]:
    default, low, high = value if isinstance(value, tuple) else (value, float("-inf"), float("inf"))
    if not low <= default <= high:
        raise ValueError(f"parameter `{name}` has the default {default}; allowed: {low} to {high}")
    return name, float(default), float(low), float(high)
