package snippet

import (
	"strings"
	"testing"
)

// TestWords holds what is found in programs of Lua, PHP and Ruby. An error is a
// program that is not read, and asked about.
func TestWords(t *testing.T) {
	for _, test := range []struct{ language, code, want string }{
		{"lua", `for i = 1, 3 do print(i * i) end`, "prints"},
		{"lua", `print(string.format("%.2f", 19.99 * 3), os.time(), ("x"):rep(3))`, "prints"},
		{"lua", "local n = 0\nfor line in io.lines(\"data/x.csv\") do n = n + 1 end -- count\nprint(n)", "reads data/x.csv"},
		{"lua", `local f = io.open("out.txt", "w"); f:write("x")`, "writes out.txt"},
		{"lua", `os.execute("id")`, "ERROR"}, {"lua", `os["execute"]("id")`, "ERROR"}, {"lua", `local o = os`, "ERROR"}, {"lua", `io.popen("id")`, "ERROR"},
		{"lua", `_G["os"]["execute"]("id")`, "ERROR"}, {"lua", `load("x")()`, "ERROR"}, {"lua", `require("os")`, "ERROR"}, {"lua", `io.open(f)`, "ERROR"},
		{"lua", `os.remove("x")`, "ERROR"}, {"lua", `print(os.getenv("TOKEN"))`, "ERROR"}, {"lua", "--[[ x ]] os.execute('id')", "ERROR"}, {"lua", "x = [[\n]]", "ERROR"},
		{"lua", `debug.getregistry()`, "ERROR"}, {"lua", `io.lines("|id")`, "ERROR"}, {"lua", "print('x", "ERROR"},

		{"php", `echo PHP_VERSION, PHP_EOL;`, "prints"}, {"php", `var_dump(round(1.005, 2));`, "prints"},
		{"php", `$d = json_decode(file_get_contents("composer.json"), true); foreach ($d["require"] as $k => $v) echo "$k $v\n";`, "reads composer.json"},
		{"php", `$f = "config/shop.php"; $s = file_get_contents($f); file_put_contents($f, str_replace("a", "b", $s));`, "reads config/shop.php; writes config/shop.php"},
		{"php", `system("id");`, "ERROR"}, {"php", `System("id");`, "ERROR"}, {"php", "`id`;", "ERROR"}, {"php", `$f = "sys" . "tem"; $f("id");`, "ERROR"}, {"php", `"system"("id");`, "ERROR"},
		{"php", `$a["f"]("id");`, "ERROR"}, {"php", `$a{"f"} ("id");`, "ERROR"}, {"php", `(fn() => 1)();`, "ERROR"}, {"php", `array_map("system", ["id"]);`, "ERROR"}, {"php", `use function system as count; count("id");`, "ERROR"},
		{"php", `include "x.php";`, "ERROR"}, {"php", `eval("x");`, "ERROR"}, {"php", `unlink("x");`, "ERROR"}, {"php", `echo getenv("TOKEN");`, "ERROR"}, {"php", `echo $_ENV["TOKEN"];`, "ERROR"},
		{"php", `echo "$_ENV[TOKEN]";`, "ERROR"}, {"php", `echo "{$x->y()}";`, "ERROR"}, {"php", `echo "${x}";`, "ERROR"}, {"php", `$x->y();`, "ERROR"}, {"php", `X::y();`, "ERROR"}, {"php", `new X;`, "ERROR"},
		{"php", `file_get_contents("https://a");`, "ERROR"}, {"php", `file_get_contents($x);`, "ERROR"}, {"php", `$f = "a"; $f .= "b"; file_get_contents($f);`, "ERROR"}, {"php", `$f = "a"; $f = $x; file_put_contents($f, 1);`, "ERROR"},
		{"php", `foreach ($l as $f) file_get_contents($f);`, "ERROR"}, {"php", `\system("id");`, "ERROR"}, {"php", `$$x = 1;`, "ERROR"}, {"php", "echo <<<E\nx\nE;", "ERROR"}, {"php", `mail("a", "b", "c");`, "ERROR"},

		{"ruby", `puts RUBY_VERSION`, "prints"}, {"ruby", `require "json"; d = JSON.parse(File.read("package.json")); d["dependencies"].each { |k, v| puts "#{k} #{v}" }`, "reads package.json"},
		{"ruby", `puts CSV.read("data/orders.csv", headers: true).map { |r| r["total"].to_f }.sum`, "reads data/orders.csv"},
		{"ruby", `puts Dir["app/models/*.rb"].map { |f| File.basename(f, ".rb") }.sort`, "prints"}, {"ruby", `puts [1, 2].map(&:to_s).join(",")`, "prints"}, {"ruby", `puts (1..3).inject(:+)`, "prints"},
		{"ruby", `system "id"`, "ERROR"}, {"ruby", "`id`", "ERROR"}, {"ruby", "puts %x(id)", "ERROR"}, {"ruby", `exec("id")`, "ERROR"}, {"ruby", `puts "#{system('id')}"`, "ERROR"}, {"ruby", `puts "#{exit}"`, "ERROR"},
		{"ruby", `File.delete("x")`, "ERROR"}, {"ruby", `File.write("x", "y")`, "ERROR"}, {"ruby", `File.open("x", "w")`, "ERROR"}, {"ruby", `open("|id")`, "ERROR"}, {"ruby", `IO.popen("id")`, "ERROR"},
		{"ruby", `Kernel.send(:system, "id")`, "ERROR"}, {"ruby", `["id"].each(&:system)`, "ERROR"}, {"ruby", `["id"].each(&:"system")`, "ERROR"}, {"ruby", `f = :system; ["id"].each(&f)`, "ERROR"}, {"ruby", `["id"].inject(nil, :system)`, "ERROR"},
		{"ruby", `puts ENV["TOKEN"]`, "ERROR"}, {"ruby", `eval "x"`, "ERROR"}, {"ruby", `load "/tmp/x.rb"`, "ERROR"}, {"ruby", `require "./x"`, "ERROR"}, {"ruby", `require "net/http"`, "ERROR"},
		{"ruby", `x = 4; x / 2; system("id") #/`, "ERROR"}, {"ruby", `puts <<~E` + "\nx\nE\n", "ERROR"}, {"ruby", `puts $0`, "ERROR"}, {"ruby", `File.read(x)`, "ERROR"}, {"ruby", `method(:system).call("id")`, "ERROR"},
		{"ruby", "puts 1\n__END__\nx", "ERROR"}, {"ruby", `FileUtils.rm_rf("x")`, "ERROR"}, {"ruby", `Object.const_get("File")`, "ERROR"}, {"ruby", `l = ->(x) { x }; l.("id")`, "ERROR"},
	} {
		if got := describe(Read(test.language, test.code)); got != test.want && !(test.want == "ERROR" && strings.HasPrefix(got, "not read")) {
			t.Errorf("%s %s\n got %s\nwant %s", test.language, test.code, got, test.want)
		}
	}
}
