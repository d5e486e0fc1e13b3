package named

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// goPure are packages of Go's standard library that compute, and touch no file,
// process or socket.
const goPure = "bytes cmp container/heap container/list container/ring context crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512 encoding/base32 encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml " +
	"errors fmt hash hash/adler32 hash/crc32 hash/crc64 hash/fnv hash/maphash html io iter maps math math/big math/bits math/cmplx math/rand math/rand/v2 net/netip net/url path path/filepath reflect regexp regexp/syntax slices sort strconv strings sync sync/atomic text/tabwriter text/scanner time unicode unicode/utf16 unicode/utf8 unique"

// goSome are what other packages have that does no more.
var goSome = map[string]string{
	"os":      "Args Stdin Stdout Stderr Exit ErrNotExist IsNotExist Getpid",
	"bufio":   "*",
	"log":     "Print Printf Println Fatal Fatalf Fatalln Panic Panicf SetFlags SetPrefix",
	"runtime": "NumGoroutine NumCPU GOOS GOARCH GOMAXPROCS Version GC ReadMemStats MemStats KeepAlive Gosched",
}

// goWalks are names of pure packages that go through folders.
const goWalks = "Walk WalkDir Glob EvalSymlinks NewFile"

// goOfFiles are methods by which an open file, such as the standard input, changes itself
// or where the program stands.
const goOfFiles = "Chdir Chmod Chown Truncate Fd SyscallConn ReadFrom WriteTo_"

// goReached are methods of reflect that call what a text names, or that read and write
// memory by its address.
const goReached = "NewAt UnsafePointer UnsafeAddr SetPointer Pointer MethodByName Method Call CallSlice MakeFunc"

// Go tells what a Go program of one file does: nothing but print, where it
// takes all from packages that compute. A file that it reads is named in it.
func Go(code string) (outcome.Effects, error) {
	var e outcome.Effects
	if strings.Contains(code, "//go:") || strings.Contains(code, "//line ") || strings.Contains(code, "/*line ") || strings.Contains(code, "//export") || strings.Contains(code, "+build") {
		return e, fmt.Errorf("a directive of the compiler")
	}
	file, err := parser.ParseFile(gotoken.NewFileSet(), "main.go", code, parser.SkipObjectResolution)
	if err != nil {
		return e, err
	}
	names := make(map[string]string)
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil || !slices.Contains(strings.Fields(goPure), name) && goSome[name] == "" {
			e.Unseen = append(e.Unseen, "import "+spec.Path.Value)
			continue
		}
		short := name[strings.LastIndex(name, "/")+1:]
		if short == "v2" {
			short = "rand"
		}
		names[short] = name
	}
	ast.Inspect(file, func(n ast.Node) bool { return goNode(&e, n, names) })
	return e, nil
}

// goNode judges one node, and reports whether those below are to be judged.
func goNode(e *outcome.Effects, n ast.Node, names map[string]string) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body == nil {
			e.Unseen = append(e.Unseen, n.Name.Name+" has no body")
		}
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && goReads(e, n, sel, names) {
			return false
		}
	case *ast.SelectorExpr:
		goName(e, n, names)
	}
	return true
}

// goName judges what is taken from a package.
func goName(e *outcome.Effects, n *ast.SelectorExpr, names map[string]string) {
	if slices.Contains(strings.Fields(goOfFiles), n.Sel.Name) || names["reflect"] != "" && slices.Contains(strings.Fields(goReached), n.Sel.Name) {
		e.Unseen = append(e.Unseen, "."+n.Sel.Name)
		return
	}
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	pkg, ok := names[x.Name]
	some := goSome[pkg]
	if !ok || some == "*" {
		return
	}
	if some != "" && !slices.Contains(strings.Fields(some), n.Sel.Name) || slices.Contains(strings.Fields(goWalks), n.Sel.Name) {
		e.Unseen = append(e.Unseen, x.Name+"."+n.Sel.Name)
	}
}

// goReads notes a file that a call reads by its name, and reports whether it does.
func goReads(e *outcome.Effects, call *ast.CallExpr, sel *ast.SelectorExpr, names map[string]string) bool {
	x, ok := sel.X.(*ast.Ident)
	if !ok || names[x.Name] != "os" || sel.Sel.Name != "ReadFile" {
		return false
	}
	text, ok := firstLiteral(call)
	if ok {
		e.Reads = append(e.Reads, outcome.Place{Path: text})
	}
	return ok
}

func firstLiteral(call *ast.CallExpr) (string, bool) {
	if len(call.Args) == 0 {
		return "", false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != gotoken.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
