//! The accounts in use.
//!
//! Invariant: a login has one account, so that its tokens are refreshed in one place.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use super::{
    account::{Account, AccountParts},
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
        let network = Arc::clone(&parts.network);
        let mut accounts = self.by_key.lock();
        let account = accounts.entry(key);
        let account = account.or_insert_with(|| Arc::new(Account::new(parts, self.me.clone())));
        account.use_network(&network);
        Arc::clone(account)
    }

    /// The account that uses this login. Without one, it is made from the record, with the client and network of
    /// `other`, which has the same client.
    pub(super) fn of_record(&self, record: &LoginRecord, other: &Account) -> Arc<Account> {
        let known: Vec<Arc<Account>> = {
            let accounts = self.by_key.lock();
            let of_key = accounts
                .values()
                .filter(|account| account.key == record.key);
            of_key.cloned().collect()
        };
        let uses = |account: &&Arc<Account>| {
            let used = account.known_record();
            used.is_some_and(|used| used.id() == record.id())
        };
        match known.iter().find(uses) {
            Some(account) => Arc::clone(account),
            None => self.of_entry(other.parts_for(record)),
        }
    }
}
