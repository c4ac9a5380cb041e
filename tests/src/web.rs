//! A web server for a test. The server's thread ends when the value is dropped.

use std::{
    future::IntoFuture,
    net::{Ipv4Addr, TcpListener},
    thread::JoinHandle,
};

use axum::Router;
use tokio::sync::oneshot;

pub struct Web {
    /// The URL of the server, without a slash at its end.
    pub url: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    pub fn open(routes: Router) -> Self {
        Self::open_at(Ipv4Addr::LOCALHOST, routes)
    }

    /// Listens at this address of the machine.
    pub fn open_at(address: Ipv4Addr, routes: Router) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (end, ended) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, routes).into_future() => served.unwrap(),
                    _ = ended => {}
                }
            });
        });
        Self {
            url,
            end: Some(end),
            thread: Some(thread),
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
