throw { status: 404, body: { reason: "gone" } };
