package named

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// readers are the languages that are read word by word, each with a line that starts a
// program or reaches out in another way.
var readers = map[string]struct {
	read    func(string) (outcome.Effects, error)
	reaches string
}{
	"lua":  {Lua, "os.execute('id')"},
	"php":  {PHP, ";system('id');"},
	"ruby": {Ruby, "system('id')"},
	"java": {Java, "class Zz { static { Runtime.getRuntime(); } }"},
	"rust": {Rust, "fn zz() { std::process::abort(); }"},
	"zig":  {Zig, "const zz = @embedFile(\"/etc/shadow\");"},
	"r":    {R, "system('id')"},
}

// wordRows are programs with what is found in them. An error is a program that is not
// read, and asked about.
var wordRows = []struct{ language, code, want string }{
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
	{"php", `foreach (["2024-02-30", "now"] as $s) { echo str_pad($s, 34), (new DateTimeImmutable($s))->format("c"), PHP_EOL; } echo ini_get("memory_limit");`, "prints"},
	{"php", "/* totals */\nfunction total(array $rows): int { return array_sum(array_map(fn($r) => $r['qty'] * $r['price'], $rows)); }\n$n = 0;\n$rows = json_decode(file_get_contents(\"data/o.json\"), true);\nusort($rows, function ($a, $b) use (&$n) { $n++; return $a['id'] <=> $b['id']; });\nprintf(\"%d %d\\n\", total($rows), $n);", "reads data/o.json"},
	{"php", `require '/home/dev/shop/legacy/vendor/autoload.php'; use Shop\Voucher\Parser; try { $v = Parser::parse("A"); echo $v->code, (new Shop\Cart\Total($v))->sum(); } catch (\Throwable $e) { echo $e::class, $e->getMessage(); }`, "project /home/dev/shop/legacy/vendor/autoload.php"},
	{"php", `$h = fopen("data/o.csv", "r"); while (($row = fgetcsv($h)) !== false) { @$n[$row[0]]++; } fclose($h); fwrite(STDERR, "done\n");`, "reads data/o.csv"},
	{"php", `foreach (glob("src/*.php") as $f) { $s = file_get_contents($f); file_put_contents($f, preg_replace('/a/', 'b', $s)); } print_r(array_filter(array_map('trim', $x)));`, "reads src/*.php; reads src/*.php; writes src/*.php"},
	{"php", `// a ?><?php system("id");`, "ERROR"}, {"php", `#[A] function f() { system("id"); }`, "ERROR"}, {"php", `if (false) { function system($x) {} } system("id");`, "ERROR"}, {"php", `function a() { function exec() {} } exec("id");`, "ERROR"},
	{"php", `usort($a, "system");`, "ERROR"}, {"php", `usort($a, $f);`, "ERROR"}, {"php", `array_filter($a, 'unlink');`, "ERROR"}, {"php", `array_map($f = "system", ["id"]);`, "ERROR"}, {"php", `array_map(system(...), ["id"]);`, "ERROR"}, {"php", `array_walk_recursive($a, "system");`, "ERROR"}, {"php", `array_udiff($a, $b, "system");`, "ERROR"},
	{"php", `use Phar as DateTime; new DateTime("x.phar");`, "ERROR"}, {"php", `use Phar; new Phar("x");`, "ERROR"}, {"php", `new SplFileObject("/etc/x", "w");`, "ERROR"}, {"php", `(new ReflectionFunction("system"))->invoke("id");`, "ERROR"}, {"php", `Closure::fromCallable("system")("id");`, "ERROR"}, {"php", `new $c("x");`, "ERROR"}, {"php", `$x->$m();`, "ERROR"}, {"php", `$x->{"a"}();`, "ERROR"},
	{"php", `require "vendor/autoload.php"; Shop\Orders::deleteAll();`, "ERROR"}, {"php", `require "vendor/autoload.php"; $o = new Shop\Order(1); $o->delete();`, "ERROR"}, {"php", `require "vendor/autoload.php"; use Symfony\Component\Process\Process; new Process(["id"]);`, "ERROR"}, {"php", `use Shop\Order; new Order;`, "ERROR"}, {"php", `require $f;`, "ERROR"},
	{"php", `require "/tmp/../vendor/autoload.php";`, "ERROR"}, {"php", `namespace A; function system() {} system("id");`, "ERROR"}, {"php", `Shop\system("id");`, "ERROR"}, {"php", `filter_var("id", FILTER_CALLBACK, ["options" => "system"]);`, "ERROR"}, {"php", `ini_set("error_log", "/etc/x");`, "ERROR"},
	{"php", `$f = "a"; [$b, $f] = [1, "/etc/x"]; file_put_contents($f, 1);`, "ERROR"}, {"php", `$f = "/etc/passwc"; $f++; file_get_contents($f);`, "ERROR"}, {"php", `foreach (glob("src/*.php") as $f) { $f = "/etc/x"; file_get_contents($f); }`, "ERROR"}, {"php", `$h = fopen("/etc/x", $m);`, "ERROR"}, {"php", `fopen("http://a", "r");`, "ERROR"}, {"php", `unserialize($x);`, "ERROR"},
	{"php", `system("id");`, "ERROR"}, {"php", `System("id");`, "ERROR"}, {"php", "`id`;", "ERROR"}, {"php", `$f = "sys" . "tem"; $f("id");`, "ERROR"}, {"php", `"system"("id");`, "ERROR"},
	{"php", `$a["f"]("id");`, "ERROR"}, {"php", `$a{"f"} ("id");`, "ERROR"}, {"php", `(fn() => 1)();`, "ERROR"}, {"php", `array_map("system", ["id"]);`, "ERROR"}, {"php", `use function system as count; count("id");`, "ERROR"},
	{"php", `include "x.php";`, "project x.php"}, {"php", `include $x;`, "ERROR"}, {"php", `include "x.php" . $y;`, "ERROR"}, {"php", `include "http://a/x.php";`, "ERROR"}, {"php", `include "/tmp/../x.php";`, "ERROR"}, {"php", `eval("x");`, "ERROR"}, {"php", `unlink("x");`, "ERROR"}, {"php", `echo getenv("TOKEN");`, "ERROR"}, {"php", `echo $_ENV["TOKEN"];`, "ERROR"},
	{"php", `echo "$_ENV[TOKEN]";`, "ERROR"}, {"php", `echo "{$x->y()}";`, "ERROR"}, {"php", `echo "${x}";`, "ERROR"}, {"php", `$x->y();`, "ERROR"}, {"php", `X::y();`, "ERROR"}, {"php", `new X;`, "ERROR"},
	{"php", `file_get_contents("https://a");`, "ERROR"}, {"php", `file_get_contents($x);`, "ERROR"}, {"php", `$f = "a"; $f .= "b"; file_get_contents($f);`, "ERROR"}, {"php", `$f = "a"; $f = $x; file_put_contents($f, 1);`, "ERROR"},
	{"php", `foreach ($l as $f) file_get_contents($f);`, "ERROR"}, {"php", `\system("id");`, "ERROR"}, {"php", `$$x = 1;`, "ERROR"}, {"php", "echo <<<E\nx\nE;", "ERROR"}, {"php", `mail("a", "b", "c");`, "ERROR"},

	{"php", `echo 1; // ?><?php system("id");`, "ERROR"}, {"php", `# ?><?= system("id");`, "ERROR"}, {"php", `#[X] function f() {} system("id");`, "ERROR"}, {"php", "# x\nsystem('id');", "ERROR"}, {"php", `/* x */ system("id");`, "ERROR"}, {"php", `/* x */ echo 1; # y`, "prints"},
	{"php", `$rows = array_map("str_getcsv", file("data/p.csv")); usort($rows, fn($a, $b) => $b[1] <=> $a[1]); foreach (array_filter($rows, function (array $r): bool { return $r[0] !== ""; }) as $r) echo implode("\t", $r), PHP_EOL;`, "reads data/p.csv"},
	{"php", `declare(strict_types=1); echo (new DateTimeImmutable("now", new DateTimeZone("Europe/Berlin")))->format(DATE_ATOM), ini_get("memory_limit"), PHP_VERSION;`, "prints"},
	{"php", `require "vendor/autoload.php"; use Shop\Voucher\Parser; foreach (["A", "b"] as $in) { try { $v = Parser::parse($in); printf("%s %s\n", json_encode($in), $v->code); } catch (\Throwable $e) { printf("%s: %s\n", $e::class, $e->getMessage()); } }`, "project vendor/autoload.php"},
	{"php", `class P { public function __construct(public readonly int $x = 0) {} public function with(int $x): static { return new static($x); } } $p = new P(3); $f = function (int ...$n) use ($p): int { return array_sum($n) + $p->x; }; echo $f(1, 2), match (true) { $p->with(4)->x > 2 => "big", default => "small" };`, "prints"},
	{"php", `foreach (glob("config/*.json") as $f) { echo basename($f), count(json_decode(file_get_contents($f), true)), "\n"; }`, "reads config/*.json; reads config/*.json"},
	{"php", `foreach (glob("config/*.json") as $f) { $f = "/etc/x"; echo file_get_contents($f); }`, "ERROR"}, {"php", `foreach (glob("config/*.json") as $f) { $f .= "/../x"; echo file_get_contents($f); }`, "ERROR"}, {"php", `foreach (glob("c/*") as $f) {} foreach ($argv as $f) { echo file_get_contents($f); }`, "ERROR"}, {"php", `foreach (glob("c/*") as $f) {} [$f] = $argv; echo file_get_contents($f);`, "ERROR"}, {"php", `foreach (glob("c/*") as $f) {} list($a, $f) = $argv; echo file_get_contents($f);`, "ERROR"}, {"php", `foreach (glob("c/*") as $f) {} foreach ($x as [$a, $f]) echo file_get_contents($f);`, "ERROR"}, {"php", `foreach (glob("c/*") as $f) {} ["a" => $f] = $x; echo file_get_contents($f);`, "ERROR"}, {"php", `function g($f) { echo file_get_contents($f); } foreach (glob("c/*") as $f) {} g("/etc/x");`, "ERROR"},
	{"php", `usort($a, "system");`, "ERROR"}, {"php", `usort($a, $f);`, "ERROR"}, {"php", `$f = "system"; array_map($f, ["id"]);`, "ERROR"}, {"php", `array_map(callback: "system", array: ["id"]);`, "ERROR"}, {"php", `array_map(...["system", ["id"]]);`, "ERROR"}, {"php", `array_filter(["id"], "sys" . "tem");`, "ERROR"}, {"php", `array_map(system(...), ["id"]);`, "ERROR"}, {"php", `array_map(["P", "f"], ["id"]);`, "ERROR"},
	{"php", `$f = fn($x) => $x; $f = "system"; $f("id");`, "ERROR"}, {"php", `$f = fn($x) => $x; foreach (["system"] as $f) $f("id");`, "ERROR"}, {"php", `$f = fn($x) => $x; [$f] = ["system"]; $f("id");`, "ERROR"}, {"php", `$f = fn($x) => $x; function g($f) { $f("id"); } g("system");`, "ERROR"}, {"php", `$f = fn($x) => $x; $g = &$f; $g = "system"; $f("id");`, "ERROR"}, {"php", `$f = fn($x) => $x; preg_match("/x/", "x", $f); $f("id");`, "ERROR"},
	{"php", `class A { function system($x) {} } system("id");`, "ERROR"}, {"php", `$o = new class { function exec($x) {} }; exec("id");`, "ERROR"}, {"php", `if (0) { class ReflectionFunction { function invoke() {} } } (new ReflectionFunction("system"))->invoke("id");`, "ERROR"}, {"php", `class A { function f() { function system() {} } } system("id");`, "ERROR"}, {"php", `function double(int $x): int { return $x * 2; } class A { public static function make(): self { return new self; } } echo double(2), get_class(A::make());`, "prints"},
	{"php", `"id" |> system(...);`, "ERROR"}, {"php", `$f = "system"; "id" |> $f;`, "ERROR"}, {"php", `new $c("id");`, "ERROR"}, {"php", `$c::f("id");`, "ERROR"}, {"php", `(new ReflectionFunction("system"))->invoke("id");`, "ERROR"}, {"php", `use ReflectionFunction as DateTime; (new DateTime("system"))->invoke("id");`, "ERROR"}, {"php", `(new DateTime)->{"x"}();`, "ERROR"}, {"php", `namespace\system("id");`, "ERROR"}, {"php", `\SYSTEM("id");`, "ERROR"},
	{"php", `Closure::fromCallable("system")("id");`, "ERROR"}, {"php", `require "vendor/autoload.php"; (new \GuzzleHttp\Client)->get("http://a");`, "ERROR"}, {"php", `require "vendor/autoload.php"; App\Order::deleteAll();`, "ERROR"}, {"php", `require "vendor/autoload.php"; new PDO("mysql:x");`, "ERROR"}, {"php", `require "vendor/autoload.php"; \Shop\x("id");`, "ERROR"}, {"php", `$a = new ArrayObject(["id"]); $a->uasort("system");`, "ERROR"}, {"php", `filter_var("id", FILTER_CALLBACK, ["options" => "system"]);`, "ERROR"}, {"php", `extract($argv);`, "ERROR"}, {"php", `(new SplFileObject("x", "w"))->fwrite("y");`, "ERROR"}, {"php", `unserialize($x);`, "ERROR"},

	{"ruby", `puts RUBY_VERSION`, "prints"}, {"ruby", `require "json"; d = JSON.parse(File.read("package.json")); d["dependencies"].each { |k, v| puts "#{k} #{v}" }`, "reads package.json"},
	{"ruby", `puts CSV.read("data/orders.csv", headers: true).map { |r| r["total"].to_f }.sum`, "reads data/orders.csv"},
	{"ruby", `puts Dir["app/models/*.rb"].map { |f| File.basename(f, ".rb") }.sort`, "prints"}, {"ruby", `puts [1, 2].map(&:to_s).join(",")`, "prints"}, {"ruby", `puts (1..3).inject(:+)`, "prints"},
	{"ruby", `system "id"`, "ERROR"}, {"ruby", "`id`", "ERROR"}, {"ruby", "puts %x(id)", "ERROR"}, {"ruby", `exec("id")`, "ERROR"}, {"ruby", `puts "#{system('id')}"`, "ERROR"}, {"ruby", `puts "#{fork}"`, "ERROR"},
	{"ruby", `File.delete("x")`, "ERROR"}, {"ruby", `File.write("x", "y")`, "writes x"}, {"ruby", `File.write("x", "")`, "ERROR"}, {"ruby", `File.open("x", "w")`, "ERROR"}, {"ruby", `open("|id")`, "ERROR"}, {"ruby", `IO.popen("id")`, "ERROR"},
	{"ruby", `Kernel.send(:system, "id")`, "ERROR"}, {"ruby", `["id"].each(&:system)`, "ERROR"}, {"ruby", `["id"].each(&:"system")`, "ERROR"}, {"ruby", `f = :system; ["id"].each(&f)`, "ERROR"}, {"ruby", `["id"].inject(nil, :system)`, "ERROR"},
	{"ruby", `puts ENV["TOKEN"]`, "ERROR"}, {"ruby", `eval "x"`, "ERROR"}, {"ruby", `load "/tmp/x.rb"`, "ERROR"}, {"ruby", `require "./lib/pricing"; puts Pricing.total([1, 2])`, "project lib/pricing"}, {"ruby", `require "../x"`, "ERROR"}, {"ruby", `require "./x"; Pricing.delete_all`, "ERROR"}, {"ruby", `require "./x"; STDOUT.reopen("/etc/x")`, "ERROR"}, {"ruby", `require "./x"; IO.read("|id")`, "ERROR"}, {"ruby", `require "/tmp/x"`, "ERROR"}, {"ruby", `require "net/http"`, "ERROR"},
	{"ruby", `x = 4; x / 2; system("id") #/`, "ERROR"}, {"ruby", `puts <<~E` + "\nx\nE\n", "ERROR"}, {"ruby", `puts $0`, "ERROR"}, {"ruby", `File.read(x)`, "ERROR"}, {"ruby", `method(:system).call("id")`, "ERROR"},
	{"ruby", "puts 1\n__END__\nx", "ERROR"}, {"ruby", `FileUtils.rm_rf("x")`, "ERROR"}, {"ruby", `Object.const_get("File")`, "ERROR"}, {"ruby", `l = ->(x) { x }; puts l.("id")`, "prints"},

	{"ruby", `seen, n = Set.new, 0; File.foreach("log/a.log") { |l| n += 1 if l =~ /in (\d+)ms/ && seen.add?($1) }; puts n`, "reads log/a.log"},
	{"ruby", `rows = Dir["a/*.yml"].flat_map { |f| YAML.load_file(f, permitted_classes: [Date], aliases: true).map { |k, v| [k, v] } }; puts rows.group_by(&:first).transform_values(&:size)`, "reads a/*.yml"},
	{"ruby", `%w[a b].each_with_index { |w, i| puts format("%d %s", i, w) }; puts %w(x).tally.select { |_, c| c > 1 }`, "prints"},
	{"ruby", "Point = Struct.new(:x, :y)\nclass Grid\n  include Enumerable\n  attr_reader :pts\n  def initialize(pts)\n    @pts = pts\n  end\n  def each(&blk)\n    @pts.each(&blk)\n  end\nend\nputs Grid.new([Point.new(1, 2)]).map(&:x).inspect", "prints"},
	{"ruby", "path = \"config/routes.rb\"\ns = File.read(path)\nFile.write(path, s.gsub(/a(\\w)/) { \"b#{$1}\" })", "reads config/routes.rb; writes config/routes.rb"},
	{"ruby", `Dir.glob("spec/**/*_spec.rb").sort.each do |path|
  src = File.read(path)
  File.write(path, src.gsub(/x\b/, "y"))
end`, "reads spec/**/*_spec.rb; writes spec/**/*_spec.rb"},
	{"ruby", `t = Process.clock_gettime(Process::CLOCK_MONOTONIC); begin; raise ArgumentError, "x"; rescue ArgumentError => e; warn e.message; end; puts Time.now - 1, t`, "prints"},
	{"ruby", `require "shop/money"; puts Shop::Money.new(1050, "EUR").split(3).inspect`, "project shop/money; project lib/shop/money"},
	{"ruby", `path = "a.rb"; path << "/../../x"; File.write(path, "y")`, "ERROR"}, {"ruby", `path = "a.rb"; path, x = "/etc/x", 1; File.write(path, "y")`, "ERROR"}, {"ruby", `path = "a.rb"; path = ARGV[0]; File.write(path, "y")`, "ERROR"}, {"ruby", `path = "a.rb"; path.replace("/etc/x"); File.write(path, "y")`, "ERROR"},
	{"ruby", `path = "a.rb"; [1].each { |path| File.write(path, "y") }`, "ERROR"}, {"ruby", "def f(path)\n  File.write(path, \"y\")\nend\npath = \"a.rb\"\nf(\"/etc/x\")", "ERROR"}, {"ruby", `File.write(ARGV[0], "y")`, "ERROR"}, {"ruby", `File.write("|id", "y")`, "ERROR"},
	{"ruby", `print = 4; print /2; system("id") #/`, "ERROR"}, {"ruby", `p = 4; p /2; exec("id") #/`, "ERROR"}, {"ruby", `[8].map { |p| p /2; exec("id") } #/`, "ERROR"}, {"ruby", `x = 4; x /2; system("id") #/`, "ERROR"}, {"ruby", `x = [4]; x[0] /2; system("id") #/`, "ERROR"}, {"ruby", `puts /a#{system("id")}/`, "ERROR"}, {"ruby", `puts %r{a#{system("id")}}`, "ERROR"},
	{"ruby", `ARGV.push("|id"); puts readlines`, "ERROR"}, {"ruby", `puts CSV.table("/etc/x")`, "ERROR"}, {"ruby", `puts YAML.safe_load_file(ENV["X"])`, "ERROR"}, {"ruby", "f = \"x\"\n  .sub(\"x\", \"/etc/x\")\nFile.write(f, \"y\")", "ERROR"}, {"ruby", "f = \"x\"\n{f: \"/etc/x\"} => {f:}\nFile.write(f, \"y\")", "ERROR"}, {"ruby", "it = \"x\"\n[\"/etc/x\"].each { File.write(it, \"y\") }", "ERROR"},
	{"ruby", "count = 4\ny = count %w(system(\"id\"); 1)", "ERROR"}, {"ruby", "f = \"a\"\nif /(?<f>.*)/ =~ \"/home/x\" then File.write(f, \"x\") end", "ERROR"}, {"ruby", `require "childprocess/unix"; puts 1`, "ERROR"},
	{"ruby", `p = 7; w = [1]; p %w[0]; system("id")`, "ERROR"}, {"ruby", `%w[system].each { |m| send(m, "id") }`, "ERROR"}, {"ruby", `%w[id].inject(nil, :system)`, "ERROR"}, {"ruby", `%w[/tmp/x.rb].inject(nil, :load)`, "ERROR"}, {"ruby", `"id".to_enum(:system, "id").next`, "ERROR"}, {"ruby", `require "erb"; ERB.new("<%= 1 %>").result`, "ERROR"},
	{"ruby", `def system(x) = x; system("id")`, "ERROR"}, {"ruby", "class File\n def self.read(x)\n x\n end\nend", "ERROR"}, {"ruby", "module Kernel\nend", "ERROR"}, {"ruby", `f = :system; def g(&f) = 1; ["id"].each(&f)`, "ERROR"}, {"ruby", `require "net/http"; Net::HTTP.get("a", "/")`, "ERROR"}, {"ruby", `require "aws-sdk-s3/x"; puts 1`, "ERROR"}, {"ruby", `$0 = "x"`, "ERROR"}, {"ruby", `$: << "/tmp"; require "x"`, "ERROR"},
	{"ruby", `Process.kill(9, 1)`, "ERROR"}, {"ruby", `Process.spawn("id")`, "ERROR"}, {"ruby", `x, IO.y = 1, 2`, "ERROR"}, {"ruby", `require "yaml"; YAML.unsafe_load(File.read("a.yml"))`, "ERROR"}, {"ruby", `extend Kernel; puts 1`, "ERROR"},

	{"java", "import java.math.*;\nimport java.util.List;\nimport static java.util.stream.Collectors.*;\npublic class A { public static void main(String[] a) { for (String s : List.of(\"2.675\")) System.out.printf(\"%s%n\", new BigDecimal(s).setScale(2, RoundingMode.HALF_UP)); } }", "prints"},
	{"java", `class A { record P(int x) {} public static void main(String[] a) { long t = System.nanoTime(); char c = '"'; /* x */ System.out.println(a.getClass().getName() + t + c); } }`, "prints"},
	{"java", `class A { public static void main(String[] a) throws Exception { Runtime.getRuntime().exec("id"); } }`, "ERROR"}, {"java", `class A { static { new ProcessBuilder("id").start(); } }`, "ERROR"}, {"java", `import java.io.*; class A {}`, "ERROR"}, {"java", `import java.nio.file.Files; class A {}`, "ERROR"},
	{"java", `class A { void f() { java.nio.file.Files.delete(null); } }`, "ERROR"}, {"java", `class A { void f() { Class.forName("x"); } }`, "ERROR"}, {"java", `class A { void f() { getClass().getMethod("f").invoke(null); } }`, "ERROR"}, {"java", `class A { int \u0052untime; }`, "ERROR"}, {"java", `import java.util.*; class A { Formatter f = new Formatter("x"); }`, "ERROR"},
	{"java", `class A { String s = System.getenv("TOKEN"); }`, "ERROR"}, {"java", `import java.net.http.HttpClient; class A {}`, "ERROR"}, {"java", `import static java.lang.Runtime.*; class A {}`, "ERROR"}, {"java", `class A { static native void f(); }`, "ERROR"}, {"java", `import java.util.logging.*; class A {}`, "ERROR"},

	{"rust", "use std::collections::HashMap;\nfn main() { let mut m: HashMap<&'static str, u32> = HashMap::new(); m.insert(\"a\", 1); for (k, v) in &m { println!(\"{k}: {v:?}\"); } let c = '\\''; assert_eq!(c.len_utf8(), 1); std::process::exit(0) }", "prints"},
	{"rust", "#[derive(Debug, Clone)] struct P { x: i32 }\n#[cfg(test)] mod t { #[test] fn a() { assert!(true); } }\nfn main() { println!(\"{:?}\", std::env::args().count()); }", "prints"},
	{"rust", `fn main() { std::fs::remove_dir_all("x").unwrap(); }`, "ERROR"}, {"rust", `use std::process::Command; fn main() {}`, "ERROR"}, {"rust", `use std::{fs as f}; fn main() {}`, "ERROR"}, {"rust", `fn main() { unsafe { } }`, "ERROR"}, {"rust", `fn main() { std::env::var("TOKEN"); }`, "ERROR"}, {"rust", `const X: &str = include_str!("/etc/shadow"); fn main() {}`, "ERROR"},
	{"rust", `#![feature(x)] fn main() {}`, "ERROR"}, {"rust", `#[path = "/tmp/x.rs"] mod x; fn main() {}`, "ERROR"}, {"rust", `mod x; fn main() {}`, "ERROR"}, {"rust", `extern "C" { fn system(x: *const u8); } fn main() {}`, "ERROR"}, {"rust", `use std::net::TcpStream; fn main() {}`, "ERROR"}, {"rust", `fn main() { let r = r#"x"#; }`, "ERROR"},

	{"java", "class A { String s = \"\\u0022; Runtime.getRuntime().exec(x); //\"; }", "ERROR"}, {"java", "class A { // \\u000a static { x(); }\n}", "ERROR"},
	{"rust", "fn main() { let a = cr#\"x\"y\"#; std::fs::remove_file(\"a\"); //\"\n}", "ERROR"}, {"r", `sapply("id", "\x73ystem")`, "ERROR"}, {"r", `sapply("id", "\163ystem")`, "ERROR"},
	{"rust", `fn main() { let x = 'ab; std::fs::remove_file("x"); let y = 'c; }`, "ERROR"}, {"java", "class A { int x = '; } // '", "ERROR"}, {"rust", `fn main() { std::path::Path::new("/root").read_dir(); }`, "ERROR"},

	{"zig", "const std = @import(\"std\");\ntest \"wraps\" { var x: u8 = 250; x +%= 10; try std.testing.expectEqual(@as(u8, 4), x); }", "prints"}, {"zig", `pub fn main() void { @import("std").debug.print("{d}\n", .{42}); }`, "prints"},
	{"zig", `const std = @import("std"); pub fn main() !void { try std.fs.cwd().deleteTree("x"); }`, "ERROR"}, {"zig", `const c = @cImport(@cInclude("stdlib.h"));`, "ERROR"}, {"zig", `const x = @embedFile("/etc/shadow");`, "ERROR"}, {"zig", `const x = @import("x.zig");`, "ERROR"}, {"zig", `const std = @import("std"); const p = std.process.Child;`, "ERROR"}, {"zig", `const std = @import("std"); const f = @field(std, "f" ++ "s");`, "ERROR"}, {"zig", `extern fn system(x: [*]u8) void;`, "ERROR"},

	{"r", "d <- read.csv(\"data/b.csv\")\nd$hour <- as.integer(substr(d$ts, 12, 13))\nprint(aggregate(basket ~ hour, data = d, FUN = median))\nm <- lm(basket ~ factor(store), data = d)\ncat(round(summary(m)$r.squared, 3), \"\\n\")", "ERROR"},
	{"r", "d <- read.csv(\"data/b.csv\")\nprint(aggregate(basket ~ hour, d, median))\nm <- lm(basket ~ factor(store), data = d)\nprint(round(summary(m)$r.squared, 3))", "reads data/b.csv"},
	{"r", `f <- function(x) x * 2; print(sapply(1:3, f)); print(Map(\(a) a + 1, 1:2))`, "prints"},
	{"r", `system("id")`, "ERROR"}, {"r", `unlink("x", recursive = TRUE)`, "ERROR"}, {"r", `sapply("id", "system")`, "ERROR"}, {"r", `sapply("id", paste0("sys", "tem"))`, "ERROR"}, {"r", `f <- paste0("sys", "tem"); sapply("id", f)`, "ERROR"}, {"r", `f <- list(paste0("sys", "tem")); sapply("id", f[[1]])`, "ERROR"}, {"r", `do.call("system", list("id"))`, "ERROR"},
	{"r", `base::system("id")`, "ERROR"}, {"r", `eval(parse(text = "x"))`, "ERROR"}, {"r", `library(x)`, "ERROR"}, {"r", `"system"("id")`, "ERROR"}, {"r", `f <- system; f("id")`, "ERROR"}, {"r", `get("system")("id")`, "ERROR"}, {"r", `writeLines("x", "y")`, "ERROR"}, {"r", "`system`(\"id\")", "ERROR"}, {"r", `print(Sys.getenv("TOKEN"))`, "ERROR"}, {"r", `read.csv(pipe("id"))`, "ERROR"}, {"r", `read.csv("https://a/b")`, "ERROR"},
	{"ruby", `system = 1; system("id")`, "ERROR"}, {"ruby", `[1].each { |fork| }; fork`, "ERROR"}, {"ruby", `puts(nil ? 1 : system("id"))`, "ERROR"}, {"ruby", `true ? fork : 1`, "ERROR"}, {"ruby", `x = nil; x ? 1 :system("id")`, "ERROR"}, {"ruby", `puts({a: 1, "b" => :c}.map { |k, v| [k, v] }.inject(:+).inspect)`, "prints"}, {"ruby", `x = 3; puts x > 2 ? "a" : "b"`, "prints"}, {"ruby", `IO = IO; IO.read("|id")`, "ERROR"}, {"ruby", `total = 1; total += 2; puts total`, "prints"},
	{"java", `class A { void f() throws Exception { Thread.currentThread().getContextClassLoader().getResources("").nextElement().toURI().resolve("http://a/x").toURL().openStream(); } }`, "ERROR"},
	{"rust", `mod r#x; fn main() { x::go() }`, "ERROR"}, {"rust", `mod x { pub fn go() {} } fn main() { x::go() }`, "prints"},
	{"r", `sapply("x.zip", "unzip")`, "ERROR"}, {"r", `f <- "untar"; Map(f, "x.tar")`, "ERROR"}, {"r", `g <- function() { bzfile <- function(x) x }; close(bzfile("/etc/x", "w"))`, "ERROR"},
}

func TestWords(t *testing.T) {
	for _, test := range wordRows {
		if got := outcome.Describe(readers[test.language].read(test.code)); got != test.want && !(test.want == "ERROR" && strings.HasPrefix(got, "not read")) {
			t.Errorf("%s %s\n got %s\nwant %s", test.language, test.code, got, test.want)
		}
	}
	for language, l := range readers {
		if _, err := l.read(l.reaches + "\n"); err == nil || !slices.ContainsFunc(wordRows, func(row struct{ language, code, want string }) bool { return row.language == language }) {
			t.Errorf("%s: %s passes, or the table has no row of it", language, l.reaches)
		}
	}
}

// FuzzWords holds that no program makes a reader fail, and that nothing in it hides what
// stands behind it.
func FuzzWords(f *testing.F) {
	for _, row := range wordRows {
		f.Add(row.language, row.code)
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		l, ok := readers[language]
		if !ok {
			return
		}
		if _, err := l.read(code + "\n" + l.reaches + "\n"); err == nil {
			t.Errorf("%s %q: what stands behind it is not seen", language, code)
		}
	})
}

// FuzzGo holds the same of Go.
func FuzzGo(f *testing.F) {
	f.Add(`import "fmt"`, `fmt.Println("x")`)
	f.Add(`import ("bufio"; "os")`, `b := bufio.NewScanner(os.Stdin); _ = b`)
	f.Add("", "/* x */ for { } // y")
	f.Fuzz(func(t *testing.T, imports, body string) {
		code := "package main\n" + imports + "\nfunc main() {" + body + "\n}\n\nfunc zz() { println(zzos.Getenv(`X`)) }\n"
		if e, err := Go("package main\nimport zzos \"os\"\n" + code[len("package main\n"):]); err == nil && len(e.Unseen) == 0 {
			t.Errorf("%q: what it takes from the environment is not seen", code)
		}
	})
}

// TestGo holds what is found in Go programs of one file.
func TestGo(t *testing.T) {
	program := func(imports, body string) string {
		return "package main\n" + imports + "\nfunc main() { " + body + " }\n"
	}
	for _, test := range []struct{ code, want string }{
		{program(`import ("fmt"; "strings")`, `fmt.Println(strings.ToUpper("x"))`), "prints"},
		{program(`import ("fmt"; "os")`, `fmt.Fprintln(os.Stderr, os.Args)`), "prints"},
		{program(`import "os"`, `b, _ := os.ReadFile("data/x.csv"); os.Stdout.Write(b)`), "reads data/x.csv"},
		{program(`import "os"`, `os.Remove("x")`), "UNSEEN os.Remove"},
		{program(`import "os"`, `f := os.ReadFile; f(".env")`), "UNSEEN os.ReadFile"},
		{program(`import "os"`, `os.ReadFile(os.Args[1])`), "UNSEEN os.ReadFile"},
		{program(`import "os"`, `println(os.Getenv("X"))`), "UNSEEN os.Getenv"},
		{program(`import "os/exec"`, `exec.Command("id").Run()`), `UNSEEN import "os/exec"`},
		{program(`import o "os"`, `o.Remove("x")`), `UNSEEN import "os"`},
		{program(`import . "fmt"`, `Println()`), `UNSEEN import "fmt"`},
		{program(`import "C"`, ``), `UNSEEN import "C"`},
		{program(`import "unsafe"`, ``), `UNSEEN import "unsafe"`},
		{program(`import ("fmt"; "reflect")`, `fmt.Println(reflect.TypeOf(0), reflect.DeepEqual(1, 2))`), "prints"},
		{program(`import ("os"; "reflect")`, `_ = reflect.ValueOf(os.Stdout).MethodByName("Chdir")`), "UNSEEN .MethodByName"},
		{program(`import "reflect"`, `_ = reflect.ValueOf(new(int)).UnsafePointer()`), "UNSEEN .UnsafePointer"},
		{program(`import "path/filepath"`, `filepath.Walk("/", nil)`), "UNSEEN filepath.Walk"},
		{"package main\n\n//go:linkname x syscall.Exec\nfunc x()\nfunc main() {}\n", "ERROR"},
		{"package main\n\nfunc x()\nfunc main() {}\n", "UNSEEN x has no body"},
		{"package main\n\nfunc main() {", "ERROR"},
	} {
		if got := outcome.Describe(Go(test.code)); got != test.want && !(test.want == "ERROR" && strings.HasPrefix(got, "not read")) {
			t.Errorf("%s\n got %s\nwant %s", test.code, got, test.want)
		}
	}
}
