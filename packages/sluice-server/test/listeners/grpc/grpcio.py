"""Makes calls over one grpcio channel. Arguments: target, and optionally PEM files: authority, key, certificate.

Input lines: method, the message in hex, and headers as name=value. Output lines: OK and the response in hex, or a status
code and its details. All calls run concurrently; output keeps the order of the input.
"""
import sys
import grpc

target, *files = sys.argv[1:]
if files:
    ca, key, certificate = (open(file, 'rb').read() for file in files)
    channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(ca, key, certificate))
else:
    channel = grpc.insecure_channel(target)

calls = []
for line in sys.stdin:
    method, message, *headers = line.split()
    metadata = [tuple(header.split('=', 1)) for header in headers]
    metadata = [(name, value.replace('+', ' ')) for name, value in metadata]
    calls.append(channel.unary_unary(method).future(bytes.fromhex(message), metadata=metadata, timeout=20))
for call in calls:
    try:
        print('OK', call.result().hex())
    except grpc.RpcError as error:
        print(error.code().name, error.details())
