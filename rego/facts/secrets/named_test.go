package secrets

import (
	"os"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// Each text has one secret, between « and », which is shown nowhere, while the rest is.
func TestValuesThatANameCallsASecret(t *testing.T) {
	for _, text := range []string{
		`AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMIK7MDENGbPxRfiCY» aws s3 rm s3://b`,
		`PGPASSWORD=«hunter» psql -h db -c 'drop table x'`,
		`PGPASSWORD='«hun ter»' psql`,
		`GITHUB_TOKEN=«abc» gh pr list`,
		`export STRIPE_API_KEY="«k-1»"; ./deploy`,
		`export DB_PASS=«geheim» && ./migrate.sh`,
		`echo DB_PASSWORD=«geheim» >> .env`,
		`SENTRY_DSN_KEY=«a8f7e6d5c4b3a2918» ./run`,
		`mysql -u root -p«hunter2» shop -e 'select 1'`,
		`mysqldump --password=«hunter2» shop`,
		`sshpass -p «hunter2» ssh root@db`,
		`docker login -u ann -p «hunter2» ghcr.io`,
		`docker login --password «hunter2» ghcr.io`,
		`echo «hunter2» | docker login -u ann --password-stdin`,
		`echo "«hunter2»" | gh auth login --with-token`,
		`redis-cli -h r -a «hunter2» flushall`,
		`ldapsearch -x -w «hunter2» -b dc=x`,
		`mongosh db -u a -p «hunter2»`,
		`unzip -P «hunter2» a.zip`,
		`7z x -p«hunter2» a.7z`,
		`openssl enc -aes-256-cbc -pass pass:«hunter2» -in a`,
		`htpasswd -bc .htpasswd ann «hunter2»`,
		`aws configure set aws_secret_access_key «abcdefg»`,
		`npm config set //registry.npmjs.org/:_authToken=«abcdefg»`,
		`gh secret set DEPLOY --body «abcdefg»`,
		`kubectl create secret generic x --from-literal=password=«abcdefg»`,
		`kubectl create secret docker-registry r --docker-password=«abcdefg»`,
		`curl -d '{"user":"a","password":"«hunter2»"}' https://x.example`,
		`curl -d 'user=a&password=«hunter2»&go=1' https://x.example`,
		`curl -H 'Authorization: Basic «YW5uOmh1bnRlcg==»' https://x.example`,
		`psql "host=db user=a password=«hunter2» dbname=x"`,
		`psql -c "create user bob with password '«hunter2»'"`,
		`mysql -e "alter user a identified by '«hunter2»'"`,
		`vault kv put secret/x password=«hunter2»`,
		`./tool --api-key «abc-def»`,
		`./tool --client-secret=«abc-def» --dry-run`,
		"api:\n  password: «hunter2»\n  port: 80",
		`const client = new Client({ apiKey: "«abc-123»" })`,
		`password = "«hunter2»"`,
		`echo root:«hunter2» | chpasswd`,
		`psql postgres://app:«hunter2»@db.example/x`,
	} {
		secret := text[strings.Index(text, "«")+len("«") : strings.Index(text, "»")]
		want := strings.Replace(text, "«"+secret+"»", concealed, 1)
		if got := Conceal(strings.NewReplacer("«", "", "»", "").Replace(text), nil); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// What only talks of secrets, or names where one is, stays as it is.
func TestNamesWithoutASecret(t *testing.T) {
	for _, text := range []string{
		`PGPASSWORD=$DB_PASSWORD psql`, `PGPASSWORD="$(cat pw)" psql`, `TOKEN=${TOKEN:-none} ./x`, `MAX_TOKENS=4096 ./x`,
		`PASS=0; FAIL=0; PASS=$((PASS+1))`, `PASSWORD= ./x`, `SSH_PRIVATE_KEY=~/.ssh/id_ed25519 ./x`, `TLS_KEY=/etc/ssl/key.pem nginx`,
		`git log --grep password`, `grep -rn "password" src`, `rg token --type py`, `sed -i 's/password/secret/' README.md`,
		`docker login --password-stdin ghcr.io`, `docker build --secret id=npm,src=.npmrc .`, `./x --token-file /run/token`,
		`aws secretsmanager list-secrets`, `kubectl get secret db -o yaml`, `gh secret list`, `mkdir -p src/auth`, `mysql -h db -P 3306 -e 'select 1'`,
		`def login(user, password): return check(password=password, token=get_token())`, `interface A { password: string; token: string }`,
		"class A:\n    password: str\n    token: Optional[str] = None", `token = get_token()`, `secret := os.Getenv("SECRET")`,
		`if password == "" { return err }`, `<input type="password" name="password">`, `PRIMARY_KEY=id ./x`, `export KEY=prod`,
		`go test ./internal/token -run TestSecret`, `ls -la tokens/ secrets/`, `pip install passlib`, `ssh -p 22 host`, `cp -p a b`, `mkdir -p login -p x`,
	} {
		if got := Conceal(text, nil); got != text {
			t.Errorf("%s\n got %s", text, got)
		}
	}
}

func TestCredentialsInArguments(t *testing.T) {
	args := `{"command":"PGPASSWORD=hunter2 psql","login":{"password":"x y","user":"ann"},"argv":["sshpass","--password","abc"],"n":1}`
	found, ok := InArguments(t.Context(), []byte(args))
	want := []holdgate.FoundSecret{
		{Kind: "named_value", Pointer: "/command", Start: 11, End: 18},
		{Kind: "named_value", Pointer: "/login/password", End: 3},
		{Kind: "named_value", Pointer: "/argv/2", End: 3},
	}
	if !ok || len(found) != len(want) {
		t.Fatalf("%v, %v", found, ok)
	}
	for i := range want {
		if found[i] != want[i] {
			t.Errorf("%+v, want %+v", found[i], want[i])
		}
	}
	if _, ok := InArguments(t.Context(), []byte(`{"a":`)); ok {
		t.Error("what cannot be read was searched")
	}
}

// The table of ordinary calls, of which next to nothing is hidden.
func TestOrdinaryCallsAreShownWhole(t *testing.T) {
	all, err := os.ReadFile("../../../testdata/judgement/ordinary.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	hidden, rows := 0, 0
	for line := range strings.Lines(string(all)) {
		rows++
		if found, ok := InArguments(t.Context(), []byte(line)); !ok || len(found) > 0 {
			hidden++
			t.Logf("%v: %s", found, line)
		}
	}
	if hidden > rows/100 {
		t.Errorf("of %d rows %d have something hidden", rows, hidden)
	}
}
