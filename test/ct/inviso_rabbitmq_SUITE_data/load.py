# Publishes a number of messages to a queue of a broker, consumes them, and
# prints how many had the expected contents.
import sys

import pika

port, queue, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
connection = pika.BlockingConnection(
    pika.ConnectionParameters('127.0.0.1', port))
channel = connection.channel()
channel.queue_declare(queue)
for i in range(count):
    channel.basic_publish('', queue, b'message %d' % i)
taken = 0
for method, _, body in channel.consume(queue):
    if body == b'message %d' % taken:
        taken += 1
    channel.basic_ack(method.delivery_tag)
    if method.delivery_tag == count:
        break
channel.cancel()
channel.queue_delete(queue)
connection.close()
print(taken)
