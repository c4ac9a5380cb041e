"""Authlib's authorization server in Flask, with OpenID Connect.

It shows: a secret for every registered client, and `token_endpoint_auth_method` of the answer as the only method that is
accepted; `resource` is ignored; the rotation of refresh tokens as its documentation has it, with detection of reuse.

--no-refresh           no refresh tokens
--deny-public-clients  the metadata lists `client_secret_post` alone, and no other method is registered
--method METHOD        registrations are answered with this method, whatever was asked for
--sub-only             the ID token has only `sub`; the address is at the userinfo endpoint
--client ...           an own client
"""

import secrets
import threading
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from flask import Flask, jsonify, request
from joserfc.jwk import RSAKey
from mcp.server.auth.provider import AccessToken
from werkzeug.serving import make_server

from kit import count, issuer, options, own_clients, ports, protect, ready, refused

METHODS = ["client_secret_post"] if options.deny_public_clients else ["client_secret_basic", "client_secret_post", "none"]
METADATA = {
    "issuer": issuer,
    "authorization_endpoint": f"{issuer}/authorize",
    "token_endpoint": f"{issuer}/token",
    "registration_endpoint": f"{issuer}/register",
    "revocation_endpoint": f"{issuer}/revoke",
    "userinfo_endpoint": f"{issuer}/userinfo",
    "jwks_uri": f"{issuer}/jwks",
    "scopes_supported": ["openid", "email", "read", "write"],
    "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_methods_supported": METHODS,
    "code_challenge_methods_supported": ["S256"],
    "id_token_signing_alg_values_supported": ["RS256"],
    "subject_types_supported": ["public"],
    "authorization_response_iss_parameter_supported": True,
}
KEY = RSAKey.generate_key(2048, {"kid": "key", "alg": "RS256"}, private=True, auto_kid=False)
USER = "ada"
EMAIL = "ada@example.com"

clients, codes, tokens = {}, {}, []
# Flask answers each request in a separate thread.
lock = threading.RLock()


class Client(ClientMixin):
    def __init__(self, info, metadata):
        self.id, self.secret, self.metadata = info["client_id"], info["client_secret"], metadata
        self.method = metadata.get("token_endpoint_auth_method", "client_secret_basic")

    def get_client_id(self):
        return self.id

    def get_default_redirect_uri(self):
        return self.metadata["redirect_uris"][0]

    def get_allowed_scope(self, scope):
        allowed = self.metadata.get("scope", " ".join(METADATA["scopes_supported"])).split()
        return " ".join(one for one in scope.split() if one in allowed)

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri in self.metadata["redirect_uris"]

    def check_client_secret(self, client_secret):
        return secrets.compare_digest(self.secret, client_secret)

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.method

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type in METADATA["grant_types_supported"]


class Code:
    def __init__(self, code, asked):
        self.code, self.client_id, self.redirect_uri = code, asked.payload.client_id, asked.payload.redirect_uri
        self.scope = asked.payload.scope
        self.code_challenge = asked.payload.data.get("code_challenge")
        self.code_challenge_method = asked.payload.data.get("code_challenge_method")
        self.nonce = asked.payload.data.get("nonce")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return int(time.time())

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class Token(TokenMixin):
    def __init__(self, values, client_id, family):
        self.access, self.refresh = values["access_token"], values.get("refresh_token")
        self.scope, self.client_id, self.family = values.get("scope", ""), client_id, family
        self.used = self.revoked = False

    def check_client(self, client):
        return self.client_id == client.id

    def get_scope(self):
        return self.scope

    def get_expires_in(self):
        return 3600

    def is_expired(self):
        return False

    def is_revoked(self):
        return self.revoked


def revoke_family(family):
    for token in tokens:
        token.revoked |= token.family == family


class AuthorizationCodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code, request):
        codes[code] = Code(code, request)

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found.client_id == client.id else None

    def delete_authorization_code(self, authorization_code):
        count("code")
        codes.pop(authorization_code.code, None)

    def authenticate_user(self, authorization_code):
        return USER


class RefreshTokenGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        found = next((token for token in tokens if token.refresh == refresh_token), None)
        if not found or found.revoked:
            return None
        if found.used:
            refused("a refresh token was used twice")
            revoke_family(found.family)
            return None
        return found

    def authenticate_user(self, refresh_token):
        return USER

    def revoke_old_credential(self, refresh_token):
        count("refresh")
        refresh_token.used = True


class OpenId(OpenIDCode):
    def exists_nonce(self, nonce, request):
        return False

    def get_client_algorithm(self, client):
        return "RS256"

    def get_client_claims(self, client):
        return {"iss": issuer}

    def get_encode_header(self, client):
        return {"alg": "RS256", "kid": "key"}

    def resolve_client_private_key(self, client):
        return KEY

    def generate_user_info(self, user, scope):
        return UserInfo(sub=user) if options.sub_only or "email" not in scope else UserInfo(sub=user, email=EMAIL)


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request):
        return "anybody may register"

    def get_server_metadata(self):
        return METADATA

    def save_client(self, client_info, client_metadata, request):
        count("register")
        client = Client(client_info, client_metadata)
        if options.method:
            client.method = options.method
        clients[client.id] = client
        return client

    def generate_client_registration_info(self, client, request):
        return {"token_endpoint_auth_method": client.method}


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, token_string, token_type_hint):
        return next((token for token in tokens if token_string in (token.access, token.refresh)), None)

    def revoke_token(self, token, request):
        revoke_family(token.family)


class Issuer(IssuerParameter):
    def get_issuer(self):
        return issuer


def save_token(values, asked):
    before = getattr(asked, "refresh_token", None)
    tokens.append(Token(values, asked.client.id, before.family if before else secrets.token_hex(8)))


app = Flask(__name__)
app.config.update(OAUTH2_REFRESH_TOKEN_GENERATOR=not options.no_refresh, OAUTH2_SCOPES_SUPPORTED=METADATA["scopes_supported"])
server = AuthorizationServer(app, query_client=clients.get, save_token=save_token)
server.register_grant(AuthorizationCodeGrant, [CodeChallenge(required=True), OpenId()])
server.register_grant(RefreshTokenGrant)
server.register_endpoint(Registration)
server.register_endpoint(Revocation)
server.register_extension(Issuer())

for client_id, secret, method, redirect_uri in own_clients:
    metadata = {"redirect_uris": [redirect_uri], "token_endpoint_auth_method": method}
    clients[client_id] = Client({"client_id": client_id, "client_secret": secret}, metadata)


@app.get("/.well-known/oauth-authorization-server")
@app.get("/.well-known/openid-configuration")
def metadata():
    return jsonify(METADATA)


@app.get("/jwks")
def jwks():
    return jsonify({"keys": [KEY.as_dict(private=False)]})


@app.route("/authorize", methods=["GET", "POST"])
def authorize():
    with lock:
        try:
            grant = server.get_consent_grant(end_user=USER)
        except OAuth2Error as error:
            refused(f"{error.error}: {error.description}")
            return server.handle_error_response(request, error)
        if request.method == "GET":
            return f'<form method="post"><input name="user" value="{USER}"><button>Allow</button></form>'
        return server.create_authorization_response(grant_user=USER, grant=grant)


def answered(response):
    if response.status_code >= 400:
        refused(response.get_data(as_text=True))
    return response


@app.post("/register")
def register():
    with lock:
        return answered(server.create_endpoint_response("client_registration"))


@app.post("/token")
def token():
    with lock:
        return answered(server.create_token_response())


@app.post("/revoke")
def revoke():
    with lock:
        return answered(server.create_endpoint_response("revocation"))


def find(access):
    with lock:
        return next((token for token in tokens if token.access == access and not token.revoked), None)


@app.get("/userinfo")
def userinfo():
    found = find(request.headers.get("Authorization", "").removeprefix("Bearer "))
    if not found:
        return jsonify({"error": "invalid_token"}), 401
    return jsonify({"sub": USER, **({"email": EMAIL} if "email" in found.scope else {})})


def verify(access):
    found = find(access)
    return found and AccessToken(token=access, client_id=found.client_id, scopes=found.scope.split(), subject=USER)


httpd = make_server("127.0.0.1", ports["issuer"], app, threaded=True)
threading.Thread(target=httpd.serve_forever, daemon=True).start()
for name in ("one", "two"):
    protect(name, verify)
ready()
