"""django-oauth-toolkit, an OAuth 2 provider for Django, with a database in memory and a user who is signed in.

It shows: the page of consent is a form with a CSRF token; unknown parameters and values of `prompt` are ignored; scopes
that the server does not list are `invalid_scope`; opaque tokens; the address of the token endpoint ends in a slash; every
token request is a transaction of a database.
"""

import os
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

from kit import count, issuer, ports, protect, ready, refused

# Tokens are looked up in the event loop of the MCP servers.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    AUTH_USER_MODEL="auth.User",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:issuer?mode=memory&cache=shared"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    LOGIN_URL="/login",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        f"{__name__}.recorded",
    ],
    OAUTH2_PROVIDER={
        "SCOPES": {"read": "Reading", "write": "Writing"},
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https"],
        "PKCE_REQUIRED": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "ROTATE_REFRESH_TOKEN": True,
    },
    ROOT_URLCONF=__name__,
    SECRET_KEY="a secret of a test",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    USE_TZ=True,
)
# The settings name this module, which is not imported twice.
sys.modules.setdefault("django_oauth_toolkit", sys.modules[__name__])
django.setup()

from django.contrib.auth import get_user_model, login
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponseRedirect
from django.urls import include, path
from mcp.server.auth.provider import AccessToken
from oauth2_provider.models import get_access_token_model

lock = threading.RLock()


def recorded(get_response):
    """Counts what the endpoints answered. One request at a time: SQLite locks whole tables of a shared memory."""

    def middleware(request):
        with lock:
            grant = request.POST.get("grant_type") if request.path.endswith("/token/") else None
            response = get_response(request)
            what = {"authorization_code": "code", "refresh_token": "refresh"}.get(grant)
            if request.method == "POST" and "register" in request.path:
                what = "register"
            if what and response.status_code < 300:
                count(what)
            elif what or response.status_code == 400:
                refused(response.content.decode()[:300])
            return response

    return middleware


def sign_in(request):
    login(request, get_user_model().objects.get(), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponseRedirect(request.GET["next"])


urlpatterns = [path("", include("oauth2_provider.urls", namespace="oauth2_provider")), path("login", sign_in)]

connection.ensure_connection()  # The memory lives as long as this connection.
call_command("migrate", verbosity=0)
get_user_model().objects.create_user("ada", "ada@example.com")


def verify(token):
    with lock:
        found = get_access_token_model().objects.select_related("user", "application").filter(token=token).first()
        if not found or found.is_expired():
            return None
        client = found.application.client_id
        return AccessToken(token=token, client_id=client, scopes=found.scope.split(), subject=found.user.username)


class Silent(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


httpd = make_server("127.0.0.1", ports["issuer"], get_wsgi_application(), server_class=Threaded, handler_class=Silent)
threading.Thread(target=httpd.serve_forever, daemon=True).start()
for name in ("one", "two"):
    protect(name, verify)
ready()
