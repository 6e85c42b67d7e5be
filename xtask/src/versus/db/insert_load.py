"""The load step of the Insert Benchmark as its published client makes it.

One process builds INSERT statements of 100 rows as text and puts them into a queue of eight, another
executes each as a transaction of its own. Prints rows per second, and the processor time of both
processes for a row, in microseconds.

Arguments: postgres or mysql, the directory or path of the server's socket, the rows.
"""

import base64
import multiprocessing
import os
import random
import resource
import sys
import time

ROWS_PER_COMMIT = 100
PENDING = 8
INTEGERS = ("cash_register", 1000), ("customer", 100000), ("product", 10000), ("price", 500)


def connection(product, socket):
    if product == "postgres":
        import psycopg2

        connected = psycopg2.connect(host=socket, user="postgres", dbname="postgres")
        connected.autocommit = True
        return connected
    import MySQLdb

    return MySQLdb.connect(unix_socket=socket, user="root", db="peer", autocommit=True)


def create_table(product, cursor):
    key, moment = {
        "postgres": ("bigserial PRIMARY KEY", "timestamp"),
        "mysql": ("bigint NOT NULL AUTO_INCREMENT PRIMARY KEY", "datetime"),
    }[product]
    integers = ", ".join(f"{name} integer NOT NULL" for name, _ in INTEGERS)
    cursor.execute("DROP TABLE IF EXISTS purchases")
    cursor.execute(
        f"CREATE TABLE purchases (id {key}, bought_at {moment}, {integers}, data varchar(4000))"
    )
    if product == "postgres":
        cursor.execute("ALTER SEQUENCE purchases_id_seq CACHE 1000")


def row(now, random_text):
    integers = ",".join(str(random.randrange(values)) for _, values in INTEGERS)
    length = random.randint(10, 20)
    chance = length * 3 // 8
    at = random.randrange(len(random_text) - chance)
    text = "a" * (length - chance) + random_text[at : at + chance]
    return f"('{now}',{integers},'{text}')"


def make_statements(statements, queue):
    random_text = base64.b64encode(os.urandom(1 << 20)).decode("ascii")
    names = ",".join(name for name, _ in INTEGERS)
    for _ in range(statements):
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        rows = ",".join(row(now, random_text) for _ in range(ROWS_PER_COMMIT))
        queue.put(f"INSERT INTO purchases (bought_at,{names},data) VALUES {rows}")
    queue.put(None)


def execute(product, socket, queue):
    cursor = connection(product, socket).cursor()
    while (statement := queue.get()) is not None:
        cursor.execute(statement)


def main():
    product, socket, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    create_table(product, connection(product, socket).cursor())
    queue = multiprocessing.Queue(PENDING)
    statements = -(-rows // ROWS_PER_COMMIT)
    work = [
        multiprocessing.Process(target=make_statements, args=(statements, queue)),
        multiprocessing.Process(target=execute, args=(product, socket, queue)),
    ]
    begun = time.monotonic()
    for process in work:
        process.start()
    for process in work:
        process.join()
        if process.exitcode != 0:
            sys.exit(f"a process ended with {process.exitcode}")
    elapsed = time.monotonic() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    inserted = statements * ROWS_PER_COMMIT
    print(inserted / elapsed, (used.ru_utime + used.ru_stime) * 1e6 / inserted)


main()
