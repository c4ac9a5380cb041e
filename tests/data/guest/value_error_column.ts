const a: any = null; a.missing.member;
