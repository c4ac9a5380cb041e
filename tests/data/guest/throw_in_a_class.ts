class Account {
  #balance = 0;
  get balance() { return this.#balance; }
  withdraw(n: number) {
    if (n > this.balance) throw new RangeError(`only ${this.balance} left`);
  }
}
new Account().withdraw(5);
