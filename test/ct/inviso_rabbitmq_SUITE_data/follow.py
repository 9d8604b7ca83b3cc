# Publishes a number of messages on one connection, and receives them on another.
# A message is published only after the previous one has come. There are no
# acknowledgements, because the queue could take an acknowledgement together with the
# next message. Prints how many messages came, and keeps both connections open until
# it reads a line.
import sys

import pika

port, queue, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
parameters = pika.ConnectionParameters('127.0.0.1', port)
publisher = pika.BlockingConnection(parameters)
consumer = pika.BlockingConnection(parameters)
out, back = publisher.channel(), consumer.channel()
back.queue_declare(queue)
come = []
# The queue gets its consumer before the first message. Otherwise the queue would keep
# this message, and send it when the consumer asks for messages: as part of another
# request.
back.basic_consume(queue, lambda _ch, _how, _what, body: come.append(body),
                   auto_ack=True)
taken = 0
for i in range(count):
    body = b'message %d' % i
    out.basic_publish('', queue, body)
    while len(come) <= i:
        consumer.process_data_events(time_limit=None)
    taken += come[i] == body
print(taken, flush=True)
sys.stdin.readline()
back.queue_delete(queue)
publisher.close()
consumer.close()
