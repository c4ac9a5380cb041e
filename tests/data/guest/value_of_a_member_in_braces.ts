{ total: 3 }
