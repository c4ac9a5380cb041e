//! Servers behind TLS: private certificate authorities, and proxies that only see a tunnel.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use mux_tests::TestEnv;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use super::{Remote, info};

/// Terminates TLS and forwards the plain bytes. The certificate is from a private authority.
struct Terminator {
    port: u16,
    /// The file with the authority's certificate.
    authority: std::path::PathBuf,
}

impl Terminator {
    /// Forwards to `behind`, with a certificate for `host`.
    async fn start(env: &TestEnv, behind: &Remote, host: &str) -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &ca).unwrap();
        let authority = env.path("authority.pem");
        fs::write(&authority, ca.pem()).unwrap();

        let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], secret)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = host_of(&behind.url);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                let to = to.clone();
                tokio::spawn(async move {
                    let mut client = acceptor.accept(client).await.ok()?;
                    let mut server = TcpStream::connect(to).await.ok()?;
                    copy_bidirectional(&mut client, &mut server).await.ok()
                });
            }
        });
        Self { port, authority }
    }

    fn entry(&self) -> String {
        format!(
            "[servers.fix]\nurl = \"https://localhost:{}/mcp\"\n",
            self.port
        )
    }

    fn trust(&self) -> String {
        format!("SSL_CERT_FILE={}\n", self.authority.display())
    }
}

fn host_of(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

fn with_env(env: &TestEnv, lines: &str) {
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.env_file(), lines).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn private_authority_is_trusted_only_through_ssl_cert_file() {
    for (host, trusted, works) in [
        ("localhost", true, true),
        ("localhost", false, false),
        ("elsewhere.test", true, false),
    ] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "plain", &[]);
        let tls = Terminator::start(&env, &remote, host).await;
        if trusted {
            with_env(&env, &tls.trust());
        }
        env.write_config(&tls.entry());
        let output = env.mux(["--json", "call", "fix.echo", "text=hi"]);
        if works {
            assert_eq!(output.ok().json()["result"], "hi");
            continue;
        }
        assert_eq!(output.code, 3, "{host} {trusted}");
        let shown = info(&env, "fix")["reason"].as_str().unwrap().to_owned();
        assert!(shown.contains("certificate"), "{shown}");
        assert_eq!(remote.count("POST", "initialize"), 0);
    }
}

/// Starts a proxy that records the head of each request, and answers `refuse` if it is set or else opens the tunnel.
/// Returns its port and the heads.
async fn proxy(refuse: Option<&'static str>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut client = BufReader::new(client);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if client.read_line(&mut head).await.ok()? == 0 {
                        return None;
                    }
                }
                noted.lock().unwrap().push(head.clone());
                if let Some(answer) = refuse {
                    return client.write_all(answer.as_bytes()).await.ok();
                }
                // Every server of these tests is on this machine, regardless of its name.
                let target = head.strip_prefix("CONNECT ")?.split(' ').next()?;
                let (_, port) = target.rsplit_once(':')?;
                let server = TcpStream::connect(("127.0.0.1", port.parse().ok()?));
                let mut server = server.await.ok()?;
                let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
                client.write_all(established).await.ok()?;
                copy_bidirectional(&mut client, &mut server).await.ok()?;
                Some(())
            });
        }
    });
    (port, heads)
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_sees_only_a_tunnel_and_its_password_is_not_shown() {
    const PASSWORD: &str = "tunn3l-secret";
    // Servers on this machine are reached without a proxy.
    const HOST: &str = "server.example";
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    for refuse in [None, Some(refusal)] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "plain", &[]);
        let tls = Terminator::start(&env, &remote, HOST).await;
        let (port, heads) = proxy(refuse).await;
        let proxy = format!("https_proxy=http://me:{PASSWORD}@127.0.0.1:{port}\n");
        with_env(&env, &format!("{}{proxy}", tls.trust()));
        env.write_config(&tls.entry().replace("localhost", HOST));
        let output = env.mux(["--json", "call", "fix.echo", "text=hi"]);
        let heads = heads.lock().unwrap().clone();
        let tunnel = format!("CONNECT {HOST}:{} ", tls.port);
        for head in &heads {
            assert!(head.starts_with(&tunnel), "{head}");
            let head = head.to_ascii_lowercase();
            assert!(head.contains("proxy-authorization: basic"), "{head}");
        }
        assert_ne!(heads.len(), 0);
        if refuse.is_none() {
            assert_eq!(output.ok().json()["result"], "hi");
            continue;
        }
        assert_eq!(output.code, 3);
        let log = env.log();
        let shown = format!("{}{}{log}", output.stdout, output.stderr);
        assert!(shown.contains("407") || shown.contains("proxy"), "{shown}");
        assert!(!shown.contains(PASSWORD), "{shown}");
    }
}
