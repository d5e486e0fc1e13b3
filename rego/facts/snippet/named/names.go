package named

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// Languages in which a program reaches out of itself only by the names of what it
// takes in: it is read by those names, token by token.

var javaRules = wordRules{
	comment: lazyregexp.New(`^//`),
	name:    lazyregexp.New(`^[A-Za-z_]\w*`),
	refused: lazyregexp.New(`^(\\|"""|\$)`),
	letter:  lazyregexp.New(`^'(\\[btnfrs0'"\\]|[^\\'])'`),
	blocks:  true,
}

// javaPure are packages of Java whose classes compute, but for those of javaReach.
const javaPure = "java.util java.util.function java.util.stream java.util.regex java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks java.math java.time java.time.format java.time.temporal java.time.chrono java.time.zone java.text java.nio.charset java.util.random"

// javaReach are the names by which a program of these packages and of java.lang
// reaches further: files, processes, the environment, code by its name.
const javaReach = "Runtime ProcessBuilder Process ProcessHandle ProcessImpl Class ClassLoader ClassValue Module ModuleLayer Package SecurityManager StackWalker Compiler Shutdown " +
	"forName getClassLoader getContextClassLoader getSystemClassLoader getPlatformClassLoader loadClass findClass getResources resources findResource openStream openConnection toURL toURI getMethod getMethods getDeclaredMethod getDeclaredMethods getDeclaredField getDeclaredFields getField getFields getConstructor getConstructors getDeclaredConstructor getDeclaredConstructors newInstance invoke getModule getResource getResourceAsStream getProtectionDomain " +
	"Formatter ServiceLoader ResourceBundle Properties Scanner Unsafe MethodHandles VarHandle load loadLibrary getenv setProperty setProperties setOut setErr setIn native " +
	"File Files Path Paths FileSystem FileSystems FileReader FileWriter FileInputStream FileOutputStream RandomAccessFile PrintStream PrintWriter URL URI URLConnection Socket ServerSocket HttpClient HttpURLConnection InetAddress DriverManager ScriptEngine ScriptEngineManager Desktop ObjectInputStream"

// Java tells what a Java program of one file does: nothing but print, where it
// takes all from packages that compute.
func Java(code string) (outcome.Effects, error) {
	if strings.Contains(code, `\u`) { // Java reads it before texts and comments, which it may end (JLS 3.3)
		return outcome.Effects{}, fmt.Errorf("a letter by its number")
	}
	r := &wordReader{code: code}
	if err := r.lex(javaRules); err != nil {
		return outcome.Effects{}, err
	}
	for i := 0; i < len(r.tokens); i++ {
		switch t := r.tok(i); {
		case t.kind == '@' && !among("Override FunctionalInterface SafeVarargs SuppressWarnings Deprecated", r.tok(i+1).text):
			return outcome.Effects{}, fmt.Errorf("the annotation %s", r.tok(i+1).text)
		case t.kind != 'n' || r.tok(i-1).kind == '.' && !among(javaReach, t.text):
		case t.text == "import":
			name, n := r.dotted(i + 1)
			pkg := cutLast(name)
			if last := pkg[strings.LastIndexByte(pkg, '.')+1:]; last != "" && last[0] < 'a' {
				pkg = cutLast(pkg) // a static member, or a class in a class
			}
			if !among(javaPure, pkg) || slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return among(javaReach, part) }) {
				return outcome.Effects{}, fmt.Errorf("import %s", name)
			}
			i += n
		case among(javaReach, t.text), among("java javax jdk sun com org", t.text) && r.tok(i+1).kind == '.', t.text == "package":
			return outcome.Effects{}, fmt.Errorf("the name %s", t.text)
		}
	}
	return r.effects, nil
}

// dotted is a name with dots in it that begins at i, without "static" before it, and
// how many tokens it takes.
func (r *wordReader) dotted(i int) (name string, n int) {
	if r.tok(i).text == "static" {
		i, n = i+1, 1
	}
	for ; r.tok(i).kind == 'n' || r.tok(i).kind == '.' || r.tok(i).kind == '*'; i, n = i+1, n+1 {
		name += r.tok(i).text
	}
	return name, n
}

// cutLast is a name up to its last dot.
func cutLast(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

var rustRules = wordRules{
	comment: lazyregexp.New(`^//`),
	name:    lazyregexp.New(`^[A-Za-z_]\w*`),
	refused: lazyregexp.New(`^([bcr]+#*"|\\)`),
	letter:  lazyregexp.New(`^('(\\.|\\x[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]+\}|[^\\'])'|'[a-z_]\w*)`),
	blocks:  true,
}

// rustReach are the names by which a program of Rust's standard library reaches out
// of itself: its modules of files, processes, sockets and the system, code that the
// compiler does not check, and what it takes in.
const rustReach = "fs path Path PathBuf read_dir metadata canonicalize read_link exists process net os env ffi unix linux windows wasi path_ext unsafe extern asm global_asm naked_asm include include_str include_bytes option_env link link_section no_mangle export_name proc_macro libc nix Command OpenOptions File TcpStream UdpSocket " +
	"from_raw_parts transmute crate_type macro_use intrinsics core_intrinsics feature sys_common sys alloc_api thread_local_internals"

// Rust tells what a Rust program of one file does.
func Rust(code string) (outcome.Effects, error) {
	r := &wordReader{code: code}
	if err := r.lex(rustRules); err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		switch next, before := r.tok(i+1), r.tok(i-1); {
		case t.kind == '#' && next.kind == '!':
			return outcome.Effects{}, fmt.Errorf("an attribute of the crate")
		case t.kind == '#' && next.kind == '[' && !among("derive test cfg allow inline must_use should_panic ignore repr default", r.tok(i+2).text):
			return outcome.Effects{}, fmt.Errorf("the attribute %s", r.tok(i+2).text)
		case t.kind != 'n':
		case t.text == "env" && r.path(i, "args"), t.text == "process" && r.path(i, "exit"):
		case among(rustReach, t.text), t.text == "mod" && r.tok(i+2).kind != '{', t.text == "path" && before.kind == '[':
			return outcome.Effects{}, fmt.Errorf("the name %s", t.text)
		case t.text == "use" && !among("std core alloc super self crate", next.text):
			r.effects.Unseen = append(r.effects.Unseen, "use "+next.text)
		}
	}
	return r.effects, nil
}

// path reports whether "::name" stands behind the token at i.
func (r *wordReader) path(i int, name string) bool {
	return r.tok(i+1).kind == ':' && r.tok(i+2).kind == ':' && r.tok(i+3).text == name
}

var zigRules = wordRules{
	comment: lazyregexp.New(`^//`),
	name:    lazyregexp.New(`^[A-Za-z_]\w*`),
	refused: lazyregexp.New(`^(\\|@")`),
	letter:  lazyregexp.New(`^'(\\.|\\x[0-9a-fA-F]{2}|[^\\'])'`),
}

// zigReach are the names by which a program of Zig's standard library reaches out of
// itself. What a name computes (@field) or takes in (@cImport, @embedFile) is refused, too.
const zigReach = "fs process posix os net http c Build linux windows wasi uefi plan9 darwin macos Child DynLib dynamic_library tmpDir testing_tmp cwd Dir File Io Uri tar zip Package zig asm extern export usingnamespace getenv getEnvMap argsAlloc Server Client Thread syscall root"

const zigBuiltins = "as intCast floatCast truncate bitCast ptrCast_ intFromFloat floatFromInt intFromEnum enumFromInt intFromBool boolFromInt sizeOf alignOf typeInfo typeName TypeOf tagName min max mod rem divFloor divExact divTrunc addWithOverflow subWithOverflow mulWithOverflow shlWithOverflow popCount clz ctz abs sqrt sin cos exp log floor ceil round splat reduce Vector memcpy memset panic compileError setEvalBranchQuota bitSizeOf errorName byteSwap bitReverse hasField hasDecl unreachable"

// Zig tells what a Zig program of one file does.
func Zig(code string) (outcome.Effects, error) {
	r := &wordReader{code: code}
	if err := r.lex(zigRules); err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		switch name := r.tok(i + 1).text; {
		case t.kind == '@' && name == "import":
			if file := r.tok(i + 3); file.kind != 's' || !among("std builtin", file.text) {
				return outcome.Effects{}, fmt.Errorf("a file that it takes in")
			}
		case t.kind == '@' && !among(zigBuiltins, name):
			return outcome.Effects{}, fmt.Errorf("@%s", name)
		case t.kind == 'n' && among(zigReach, t.text):
			return outcome.Effects{}, fmt.Errorf("the name %s", t.text)
		}
	}
	return r.effects, nil
}

var rRules = wordRules{
	comment: lazyregexp.New(`^#`),
	name:    lazyregexp.New(`^(\.[A-Za-z_]|[A-Za-z])[\w.]*`),
	refused: lazyregexp.New("^(`|[rR]\"[-]*[(\\[{]|\\\\[^(])"),
}

// rWords are functions of R that compute and print.
const rWords = "if for while repeat function return next break in else TRUE FALSE NULL NA Inf NaN NA_character_ NA_integer_ NA_real_ pi letters LETTERS month.name T F stdout stderr quit q stop warning message stopifnot tryCatch invisible suppressWarnings suppressMessages on.exit_ " +
	"c list vector character numeric integer logical matrix array data.frame factor levels names colnames rownames dimnames dim nrow ncol NROW NCOL length seq seq_len seq_along rev rep sort order rank unique duplicated which which.max which.min any all is.na is.null is.numeric is.character is.finite ifelse switch identical setdiff union intersect head tail append " +
	"sum mean median min max range var sd quantile cor cumsum cumprod cummax cummin diff round floor ceiling trunc abs sqrt exp log log2 log10 log1p sin cos tan prod scale sweep outer crossprod solve det t diag " +
	"table tabulate prop.table proportions aggregate tapply sapply lapply vapply Map Filter Reduce mapply apply by split unsplit merge rbind cbind stack reshape cut findInterval rowSums rowMeans colSums colMeans expand.grid subset with within transform complete.cases na.omit " +
	"paste paste0 sprintf format formatC prettyNum nchar substr substring strsplit gsub sub grepl regmatches regexpr gregexpr toupper tolower trimws startsWith endsWith rev utf8ToInt chartr toString cat print str summary as.integer as.numeric as.character as.logical as.Date as.POSIXct as.factor as.data.frame as.matrix as.vector as.list difftime Sys.time Sys.Date strftime strptime months weekdays ISOdate " +
	"lm glm anova predict residuals fitted coef confint t.test wilcox.test chisq.test shapiro.test cor.test aov TukeyHSD prop.test binom.test ks.test p.adjust dnorm pnorm qnorm rnorm runif rbinom rpois dbinom pbinom dpois ppois dist hclust cutree kmeans prcomp lowess loess spline approx optim optimize uniroot integrate set.seed sample nls arima acf fft poly model.matrix formula update " +
	"read.csv read.csv2 read.delim read.table nlevels is.factor droplevels rownames setNames unlist do.na mode class typeof inherits nargs missing is.function exists_ nchar max.col rle inverse.rle bitwAnd strtoi rawToChar charToRaw rowsum ave interaction ecdf density hist_ mad IQR fivenum weighted.mean jsonlite_ object.size system.time Recall Negate Vectorize identity"

// rReach are functions of R that reach further, which no text may name either: an
// apply takes a function by its name.
const rReach = "unzip untar zip tar unz bzfile xzfile file.edit edit vi vim emacs pico xedit xemacs fix page file.show data.entry dataentry View delayedAssign makeActiveBinding lockBinding unlockBinding Sys.umask Sys.setFileTime Sys.setlocale Sys.readlink Sys.glob list.files list.dirs dir file.info file.exists dump.frames recover browser debug trace untrace reg.finalizer addTaskCallback " +
	"savehistory loadhistory sys.save.image sys.load.image write.dcf read.dcf write.csv2 capture.output postscript svg xfig bitmap tiff bmp cairo_pdf pictex Stangle Sweave remove.packages update.packages download.packages available.packages curlGetHeaders nsl socketAccept serverSocket open rawConnection textConnection scan readBin writeBin readChar writeChar " +
	"eapply rapply getOption Find Position example demo help vignette help.start url.show bug.report create.post make.socket read.socket write.socket attach detach getNativeSymbolInfo library.dynam .Fortran .Call.graphics .External2 .External.graphics getFromNamespace assignInNamespace getAnywhere getS3method str2lang str2expression deparse_ substitute_ new setMethod setClass slot system system2 shell shell.exec unlink file.remove file.rename file.copy file.create file.append dir.create file.symlink file.link Sys.setenv Sys.getenv Sys.chmod Sys.unsetenv eval evalq parse expression source sys.source sink get get0 mget assign do.call match.fun match.arg library require loadNamespace requireNamespace attachNamespace dyn.load .Call .C .External .Internal .Primitive download.file url socketConnection pipe file gzfile fifo writeLines write write.csv write.table cat_ dput dump save saveRDS save.image load readRDS unserialize serialize install.packages environment globalenv as.environment baseenv new.env local body formals as.function Rprof readline readLines readRenviron setwd options pdf png svg jpeg browseURL"

// R tells what a program of R does.
func R(code string) (outcome.Effects, error) {
	r := &wordReader{code: code}
	if err := r.lex(rRules); err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		if err := r.rToken(i, t); err != nil {
			return outcome.Effects{}, err
		}
	}
	return r.effects, nil
}

// rSpelled is a letter of a text by its number: the text may be the name of a function.
var rSpelled = lazyregexp.New(`\\[xuU0-7]`)

// rToken judges one token of R. What is called is a function of the list, or one
// that the program defines.
func (r *wordReader) rToken(i int, t wordToken) error {
	next := r.tok(i + 1)
	switch {
	case t.kind == 's' && rSpelled.MatchString(t.text):
		return fmt.Errorf("a letter by its number")
	case t.kind == ':' && next.kind == ':', t.kind == 's' && (among(rReach, t.text) || next.kind == '('), t.kind == '@':
		return fmt.Errorf("a name of another package")
	case t.kind == ')' && next.kind == '(' && !next.gap, t.kind == ']' && next.kind == '(':
		return fmt.Errorf("a call of what a value holds")
	case t.kind != 'n':
	case among(rReach, t.text) && r.tok(i-1).kind != '$':
		return fmt.Errorf("the name %s", t.text)
	case next.kind != '(':
	case among("read.csv read.csv2 read.delim read.table", t.text):
		return r.file(i+2, false)
	case strings.HasSuffix(t.text, "apply") || among("Map Filter Reduce outer aggregate by ave sweep Vectorize optim optimize uniroot integrate", t.text):
		return r.rApplies(i + 1)
	case !among(rWords, t.text) && !r.defines(t.text):
		return fmt.Errorf("the function %s", t.text)
	}
	return nil
}

// defines reports whether R's program makes a function of that name, and gives the
// name to nothing else.
func (r *wordReader) defines(name string) (made bool) {
	for i, t := range r.tokens {
		if t.kind != 'n' || t.text != name {
			continue
		}
		at := i + 2
		switch next := r.tok(i + 1); {
		case next.kind == '<' && r.tok(i+2).kind == '-':
			at = i + 3
		case next.kind != '=' || r.tok(i+2).kind == '=':
			continue
		}
		if made = r.tok(at).text == "function" || r.tok(at).kind == '\\'; !made {
			return false
		}
	}
	return made
}

// rText are functions that make text.
const rText = "paste paste0 sprintf rawToChar toString gsub sub substr substring strsplit chartr format formatC intToUtf8 trimws tolower toupper regmatches rev"

// rApplies judges the arguments of a function that calls another: they begin at i. The
// other may stand there by its name, so what may hold a text that the program made is
// refused.
func (r *wordReader) rApplies(i int) error {
	if !slices.ContainsFunc(r.tokens, func(t wordToken) bool { return t.kind == 'n' && among(rText, t.text) }) {
		return nil
	}
	depth := 0
	for ; i < len(r.tokens); i++ {
		switch t := r.tok(i); t.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return nil
			}
		case ',':
			arg, after := r.tok(i+1), r.tok(i+2)
			if depth == 1 && arg.kind == 'n' && after.kind == '=' {
				arg, after = r.tok(i+3), r.tok(i+4)
			}
			plain := arg.kind == 's' || arg.kind == '0' || arg.kind == '\\' || arg.kind == 'n' && (among("function TRUE FALSE NULL", arg.text) ||
				(after.kind == ',' || after.kind == ')') && (among(rWords, arg.text) || r.defines(arg.text)))
			if depth == 1 && !plain {
				return fmt.Errorf("a function by a name that may be computed")
			}
		}
	}
	return nil
}
