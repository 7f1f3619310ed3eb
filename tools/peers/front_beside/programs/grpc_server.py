"""A gRPC server on grpcio without TLS: grpc_server.py PORT

Its service `echo.Echo` takes and returns bytes as they are. One, Many (three messages), Sum (the
number of messages), Both (each message back as it comes), and Fails (NOT_FOUND).
"""

import sys
from concurrent import futures

import grpc


def fails(_, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "not here")


def main(port):
    calls = {
        "One": grpc.unary_unary_rpc_method_handler(lambda message, _: message),
        "Many": grpc.unary_stream_rpc_method_handler(lambda message, _: iter([message] * 3)),
        "Sum": grpc.stream_unary_rpc_method_handler(
            lambda messages, _: str(sum(1 for _ in messages)).encode()),
        "Both": grpc.stream_stream_rpc_method_handler(lambda messages, _: messages),
        "Fails": grpc.unary_unary_rpc_method_handler(fails),
    }
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("echo.Echo", calls),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


main(int(sys.argv[1]))
