class Muxd < Formula
  desc "One pool of MCP servers for all agents, and typed programs on their tools"
  homepage "@BASE_URL@"
  version "@VERSION@"
  license "Apache-2.0"

@PLATFORMS@

  def install
    bin.install "bin/mux", "bin/muxd", "bin/mux-worker"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/mux"
    zsh_completion.install "share/zsh/site-functions/_mux"
    fish_completion.install "share/fish/vendor_completions.d/mux.fish"
    prefix.install "LICENSE", "LICENCES.txt", "sbom.cdx.json"
    (share/"mux").mkpath
    (share/"mux/installed-by").write "brew\n"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mux --version")
  end
end
