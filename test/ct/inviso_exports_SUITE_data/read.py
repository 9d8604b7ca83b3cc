# SPDX-License-Identifier: Apache-2.0
# Reads a file that `inviso merge' wrote, with Python's own readers:
#
#	read.py json FILE         each line is JSON, which is printed in ASCII
#	read.py sqlite FILE SQL   prints the first column of each row
#	read.py svg FILE          prints the total and the names of a flame graph, as JSON
import json
import sqlite3
import sys
import xml.dom.minidom

what, path = sys.argv[1:3]
if what == 'json':
    with open(path, encoding='utf-8', newline='\n') as file:
        for line in file:
            print(json.dumps(json.loads(line, parse_constant=float.fromhex)))
elif what == 'sqlite':
    for row in sqlite3.connect(path).execute(sys.argv[3]):
        print(row[0])
else:
    svg = xml.dom.minidom.parse(path).documentElement
    frames = svg.getElementsByTagName('svg')
    print(json.dumps({'ns': int(svg.getAttribute('data-ns')),
                      'names': [f.getAttribute('data-name') for f in frames]}))
