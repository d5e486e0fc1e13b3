package launch

import (
	"path/filepath"
	"slices"
)

// credentials are files and folders below home in which tools keep keys, logins
// and histories.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/containers/auth.json", ".config/gcloud", ".oci", ".bluemix", ".cf", ".mc",
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub", ".subversion/auth",
	".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".composer/auth.json",
	".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".pg_service.conf", ".snowsql", ".databrickscfg", ".dbt/profiles.yml", ".s3cfg", ".boto",
	".vault-token", ".terraformrc", ".terraform.d/credentials.tfrc.json", ".pulumi", ".config/doctl", ".config/heroku", ".config/netlify", ".config/hcloud", ".config/scw",
	".config/stripe", ".config/ngrok", ".config/sops", ".config/rclone", ".config/op", ".config/linode-cli", ".cloudflared", ".wrangler", ".fly", ".railway", ".sentryclirc",
	".huggingface", ".cache/huggingface/token", ".kaggle", ".circleci", ".msmtprc", ".fetchmailrc", ".password-store", ".local/share/keyrings",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".rediscli_history", ".sqlite_history",
}

// Credentials are the places below home that hold credentials of tools other
// than the program, other agents' among them. They need not be there.
func Credentials(program, home string) (paths []string) {
	if home == "" {
		return nil
	}
	mine := own[filepath.Base(program)]
	names := slices.Clone(credentials)
	for _, others := range own {
		for _, name := range others {
			if !slices.Contains(mine, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		paths = append(paths, filepath.Join(home, name))
	}
	return paths
}
