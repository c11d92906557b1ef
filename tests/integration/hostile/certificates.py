# SPDX-License-Identifier: Apache-2.0
"""Certificates, good and bad, made anew for each run."""
import datetime
import ipaddress
import os
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self, name, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(name)
        now = datetime.datetime.utcnow()
        self.cert = (x509.CertificateBuilder().subject_name(self.name).issuer_name(self.name)
                     .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
                     .not_valid_before(now - DAY).not_valid_after(now + DAY)
                     .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
                     .sign(self.key, hashes.SHA256()))

    def pem(self):
        return self.cert.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, label, hosts=("localhost",), addresses=("127.0.0.1", "::1"), days=(-1, 1),
              self_signed=False):
        """Writes label.pem and label.key into the folder; gives their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.utcnow()
        names = [x509.DNSName(h) for h in hosts]
        names += [x509.IPAddress(ipaddress.ip_address(a)) for a in addresses]
        subject = _name(label)
        cert = (x509.CertificateBuilder().subject_name(subject)
                .issuer_name(subject if self_signed else self.name).public_key(key.public_key())
                .serial_number(x509.random_serial_number())
                .not_valid_before(now + days[0] * DAY).not_valid_after(now + days[1] * DAY)
                .add_extension(x509.SubjectAlternativeName(names), False)
                .sign(key if self_signed else self.key, hashes.SHA256()))
        path = os.path.join(self.folder, label)
        with open(path + ".pem", "wb") as file:
            file.write(cert.public_bytes(serialization.Encoding.PEM))
        with open(path + ".key", "wb") as file:
            file.write(key.private_bytes(serialization.Encoding.PEM,
                                         serialization.PrivateFormat.PKCS8,
                                         serialization.NoEncryption()))
        return path + ".pem", path + ".key"

    def server(self, label, alpn=None, minimum=None, maximum=None, **how):
        """A server's TLS context with such a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(label, **how))
        if alpn:
            context.set_alpn_protocols(alpn)
        if minimum:
            context.minimum_version = minimum
        if maximum:
            context.maximum_version = maximum
        return context
