return { wei: [2n ** 64n] };
