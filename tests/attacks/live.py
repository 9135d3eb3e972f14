"""A viewer of `airlane send` that moves its video to somebody else (docs/reference/wire/messages.md). Loopback only,
bounded in time."""
import sys,os,socket,time,select,struct,ssl,hashlib,hmac
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic import events as ev
from aioquic import tls
from aioquic.buffer import encode_uint_var
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives import hashes

orig=tls.KeySchedule.derive_secret
EXP={}
def derive(self,label):
    if label==b"c ap traffic":
        EXP['secret']=orig(self,b"exp master"); EXP['alg']=self.algorithm
    return orig(self,label)
tls.KeySchedule.derive_secret=derive
def exporter(label,context,n=32):
    alg=EXP['alg']
    h=lambda b: (lambda d:(d.update(b),d.finalize())[1])(hashes.Hash(alg))
    s=tls.hkdf_expand_label(alg,EXP['secret'],label,h(b''),alg.digest_size)
    return tls.hkdf_expand_label(alg,s,b'exporter',h(context),n)
def expand(secret,label,n): return HKDFExpand(hashes.SHA256(),n,label).derive(secret)

class Viewer:
    def __init__(s,server,bind=('127.0.0.1',0),alpn='airlane-live'):
        s.server=server
        s.sock=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sock.bind(bind); s.sock.setblocking(False)
        s.sock.setsockopt(socket.SOL_SOCKET,socket.SO_RCVBUF,1<<22)
        c=QuicConfiguration(is_client=True,alpn_protocols=[alpn],verify_mode=ssl.CERT_NONE,idle_timeout=30)
        s.q=QuicConnection(configuration=c); s.events=[]; s.media=[]; s.sent=0; s.connected=False; s.closed=None
        s.q.connect(server,now=time.time()); s.flush()
    def flush(s,sock=None):
        for d,a in s.q.datagrams_to_send(now=time.time()):
            (sock or s.sock).sendto(d,s.server); s.sent+=len(d)
    def pump(s,seconds,until=None):
        end=time.time()+seconds
        while time.time()<end:
            t=s.q.get_timer(); w=min(end-time.time(),0.02,max(0,(t or end)-time.time()))
            r,_,_=select.select([s.sock],[],[],max(0,w))
            if r:
                for _ in range(64):
                    try: d,a=s.sock.recvfrom(65536)
                    except BlockingIOError: break
                    if 4<=d[0]<=15: s.media.append(d)
                    else: s.q.receive_datagram(d,a,now=time.time())
            if t and time.time()>=t: s.q.handle_timer(now=time.time())
            while (e:=s.q.next_event()):
                s.events.append(e)
                if isinstance(e,ev.HandshakeCompleted): s.connected=True
                if isinstance(e,ev.ConnectionTerminated): s.closed=e
            s.flush()
            if until and until(): return True
        return False
    def path(s):
        assert s.pump(5,lambda:s.connected),s.closed
        sid=s.q.get_next_available_stream_id(); me=0x01020304
        s.q.send_stream_data(sid,b'ALMS\x01'+struct.pack('>I',me),end_stream=True); s.flush()
        data=b''
        def got():
            nonlocal data
            for e in s.events:
                if isinstance(e,ev.StreamDataReceived) and e.stream_id==sid: data+=e.data
            s.events.clear()
            return len(data)>=9
        if not s.pump(5,got): raise SystemExit(f'no answer {s.closed}')
        assert data[:5]==b'ALMS\x01',data
        s.me=me; s.peer=struct.unpack('>I',data[5:9])[0]; s.body=data[9:]
        ctx=struct.pack('>II',me,s.peer)
        k=exporter(b'EXPORTER-airlane-messages',ctx+b'\0'); r=exporter(b'EXPORTER-airlane-messages',ctx+b'\1')
        s.sk,s.siv=AESGCM(expand(k,b'airlane messages key',16)),expand(k,b'airlane messages iv',12)
        s.rk,s.riv=AESGCM(expand(r,b'airlane messages key',16)),expand(r,b'airlane messages iv',12)
        s.pn=0; s.msg=0; s.came=set()
    def nonce(s,iv,pn): return iv[:4]+bytes(a^b for a,b in zip(iv[4:],struct.pack('>Q',pn)))
    def seal(s,frame):
        clear=bytes([7,0])+b'\0'*4+struct.pack('>HI',65535,s.msg)+struct.pack('>II',s.peer,s.pn)
        d=clear+s.sk.encrypt(s.nonce(s.siv,s.pn),frame,clear)
        s.pn+=1; s.msg+=1
        return d
    def open(s,d):
        pn=struct.unpack('>I',d[16:20])[0]&0x7fffffff
        f=s.rk.decrypt(s.nonce(s.riv,pn),d[20:],d[:20])
        s.came.add(pn)
        return pn,f
    def ranges(s,most=32):
        """What has come, newest first, as (first, last); some numbers are left out on purpose."""
        out=[]
        for pn in sorted(s.came,reverse=True):
            if out and out[-1][0]==pn+1: out[-1][0]=pn
            elif len(out)<most: out.append([pn,pn])
            else: s.came.discard(pn)
        return out
    def honest(s):
        """Acknowledges what has come and nothing else."""
        r=s.ranges(); body=b'\2'+b'\0\0\0\0'+bytes([len(r)])+encode_uint_var(r[0][1])+encode_uint_var(r[0][1]-r[0][0])
        for (below,_),(first,last) in zip(r,r[1:]): body+=encode_uint_var(below-last)+encode_uint_var(last-first)
        return s.seal(body)
    def ack(s,newest,first): return s.seal(b'\2'+b'\0\0\0\0\x01'+encode_uint_var(newest)+encode_uint_var(newest-first))
    def ping(s): return s.seal(b'\3')
