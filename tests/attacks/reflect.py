"""reflect.py PORT [S [MODE]]: an address that proves nothing gets at most three times what came from it.

Against `airlane send plaza --listen 127.0.0.1:PORT`. MODE: `truthful` acknowledges in the victim's name
what came to the attacker; `blind` what may have been sent, which has to end the path at once.
Needs aioquic and cryptography. Exit code 1 if the sender did more than it may."""
import sys; sys.path.insert(0,__import__('os').path.dirname(__import__('os').path.abspath(__file__)))
from live import *
port=int(sys.argv[1]); secs=float(sys.argv[2]) if len(sys.argv)>2 else 20
mode=sys.argv[3] if len(sys.argv)>3 else 'truthful'
server=('127.0.0.1',port)
v=Viewer(server); v.path()
# 1. an honest viewer for a while: acknowledge what comes
def take():
    n=0
    for d in v.media:
        v.open(d); n+=len(d)
    v.media.clear()
    return n
t0=time.time(); honest=0
while time.time()-t0<4:
    v.pump(0.02)
    n=take()
    if n:
        b=v.honest(); v.sock.sendto(b,server); v.sent+=len(b)
        if time.time()>t0+2: honest+=n
print(f'honest: {honest*4/1e6:.2f} Mbit/s, {len(v.came)} packets')
assert honest>0 and not v.closed,(honest,v.closed)
# 2. the victim: another address. Its socket stands for a forged source address; nothing that it gets is used.
victim=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); victim.bind(('127.0.0.3',0)); victim.setblocking(False)
victim.setsockopt(socket.SOL_SOCKET,socket.SO_RCVBUF,1<<22)
forged_media=forged_quic=got_media=got_quic=own=0
v.q.send_ping(1)
for d,a in v.q.datagrams_to_send(now=time.time()):
    victim.sendto(d,server); forged_quic+=len(d)
time.sleep(0.03); v.q.send_ping(2); v.flush()   # QUIC itself goes back to where the attacker is
start=time.time(); nxt=start
while time.time()-start<secs and not v.closed:
    v.pump(0.02)
    own+=take()
    while True:
        try: d,_=victim.recvfrom(65536)
        except BlockingIOError: break
        if 4<=d[0]<=15: got_media+=len(d)
        else: got_quic+=len(d)
    for b in [v.ping(), v.ack(1<<40,0) if mode=='blind' else v.honest()]:
        victim.sendto(b,server); forged_media+=len(b)
    if time.time()>nxt:
        v.q.send_ping(3); v.flush(); nxt+=2
print(f'media path: {got_media} bytes at the victim for {forged_media} in its name, {got_media/forged_media:.2f} times')
print(f'QUIC: {got_quic} bytes at the victim for {forged_quic} in its name; closed: {v.closed}')
print(f'meanwhile {own} bytes of video came to the attacker itself')
if mode=='blind': assert v.closed and v.closed.error_code==2,v.closed
assert got_media<=3*forged_media
