//! The accounts in use.
//!
//! Invariant: all accounts of a login share one state, so tokens are refreshed in one place, and a logout or a new
//! login reaches each account.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use futures::future::join_all;
use parking_lot::Mutex;

use super::{
    account::{Account, AccountParts, SharedState},
    login_record::{LoginKey, LoginRecord},
};

/// A login key with the issuer in the server's entry, if any: logins of other issuers are not used.
type AccountKey = (LoginKey, Option<String>);

#[derive(Debug)]
pub(super) struct AccountsInUse {
    me: Weak<Self>,
    by_key: Mutex<HashMap<AccountKey, Arc<Account>>>,
}

impl AccountsInUse {
    pub(super) fn new() -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            by_key: Mutex::default(),
        })
    }

    /// The account of a server's entry.
    pub(super) fn of_entry(&self, parts: AccountParts) -> Arc<Account> {
        let key = (parts.key.clone(), parts.issuer.clone());
        let mut accounts = self.by_key.lock();
        if let Some(account) = accounts.get(&key) {
            account.use_entry(&parts.entry);
            return Arc::clone(account);
        }
        let shared = shared_state(accounts.values(), &parts).unwrap_or_default();
        let account = Arc::new(Account::new(parts, shared, self.me.clone()));
        accounts.insert(key, Arc::clone(&account));
        account
    }

    /// The account that uses this login. If there is none, creates one from the record, with the client and network of
    /// `other`, which has the same client.
    pub(super) fn of_record(&self, record: &LoginRecord, other: &Account) -> Arc<Account> {
        let known = self.users_of(record).into_iter().next();
        known.unwrap_or_else(|| self.of_entry(other.parts_for(record)))
    }

    /// Forgets this login in all accounts that use it.
    pub(super) fn forget(&self, record: &LoginRecord) {
        for account in self.users_of(record) {
            account.forget();
        }
    }

    /// Waits until no refresh token is being exchanged.
    pub(super) async fn finish_exchanges(&self) {
        let accounts: Vec<_> = self.by_key.lock().values().cloned().collect();
        join_all(accounts.iter().map(|account| account.finish_exchanges())).await;
    }

    fn users_of(&self, record: &LoginRecord) -> Vec<Arc<Account>> {
        let mut users: Vec<Arc<Account>> = {
            let accounts = self.by_key.lock();
            let of_key = accounts
                .values()
                .filter(|account| account.key == record.key);
            of_key.cloned().collect()
        };
        users.retain(|account| {
            let used = account.known_record();
            used.is_some_and(|used| used.id() == record.id())
        });
        users
    }
}

/// The state of the accounts with the same key, unless one of them has another issuer: their logins are separate.
fn shared_state<'a>(
    accounts: impl Iterator<Item = &'a Arc<Account>>,
    parts: &AccountParts,
) -> Option<Arc<SharedState>> {
    let of_key: Vec<_> = accounts
        .filter(|account| account.key == parts.key)
        .collect();
    // An entry without an issuer uses the latest login.
    let latest = || Some(parts.store.find(&parts.key, None)?.issuer);
    let issuer = parts.issuer.clone().or_else(latest);
    let is_allowed = |shared: &Arc<SharedState>| {
        let mut users = of_key.iter();
        users.all(|account| {
            let issuer = issuer.as_deref();
            !Arc::ptr_eq(account.shared_state(), shared)
                || issuer.is_none_or(|issuer| account.allows_issuer(issuer))
        })
    };
    let mut states = of_key.iter().map(|account| account.shared_state());
    states.find(|shared| is_allowed(shared)).map(Arc::clone)
}
