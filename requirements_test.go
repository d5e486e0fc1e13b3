package holdgate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A requirement is one thing that one of the five systems asks for whose
// behaviour Holdgate brings to any agent, and the tests that see it at the door
// where its user stands: "folder:TestName", or a script of commands.
type requirement struct {
	seed  string
	what  string
	tests []string
}

// requirements are in the order of the seeds: 000 confidence and approvals, 001
// interventions and policies, 002 reports, gates and steering, 003 commands, gates
// and messages, 004 choices and handlers.
var requirements = []requirement{
	{"000", "bands of confidence: go on, show, stop, abort", []string{"rego:TestPackOnConfidenceAndModes", "policies/confidence/confidence_test.rego"}},
	{"000", "the weighted scorer", []string{"policies/score/score_test.rego"}},
	{"000", "tools that succeeded, as Holdgate saw it, for the scorer", []string{"proxy/model:TestHowToolsEndedIsSeenInTheNextRequest", "proxy/model:TestHowToolsOfMCPServersEndedIsSeen", "proxy/model:TestToolsThatFailWeighAgainstWhatTheAgentSays", "cmd/holdgate/cli/testdata/sessions.txt"}},
	{"000", "always-gated operations", []string{"rego:TestPackLetsNothingDestructiveThrough"}},
	{"000", "an approval request says all that a person needs", []string{"approvals/api:TestListsAreFilteredAndNeverNull", "approvals/briefing:TestSectionsShowTheCall", "cmd/holdgate/cli/testdata/show.txt"}},
	{"000", "modes auto, manual, confidence_threshold", []string{"rego:TestPackOnConfidenceAndModes", "approvals/sessions:TestTheStrictestModeOfAnAgentsSessionsCounts", "cmd/holdgate/cli/testdata/sessions.txt"}},
	{"000", "an agent can only tighten its mode", []string{"proxy:TestAnAgentTightensItsModeAndNeverLoosensIt"}},
	{"000", "steering goes into the next model call", []string{"proxy/model:TestARedirectIsInTheNextModelRequest"}},
	{"000", "per-tool approval: yes, always, no", []string{"cmd/holdgate/cli/testdata/grants.txt", "approvals:TestGrantsCoverWhatWasAnsweredAndNoMore"}},
	{"000", "a modal in the terminal", []string{"cmd/holdgate/launch:TestThePersonDecidesInTheAgentsTerminal"}},
	{"000", "timed auto-proceed, done right", []string{"approvals:TestWhatSilenceDoes", "approvals:TestTheWindowBeginsWhenPeopleAreTold", "approvals:TestSilenceWhileTheSidecarWasDown", "approvals:TestAClockThatJumpsIsNoSilence"}},
	{"000", "silence never approves: the sidecar killed", []string{"approvals:TestSilenceWhileTheSidecarWasDown", "cmd/holdgate/e2e:TestATimerActsAfterACrash"}},
	{"000", "silence never approves: the clock moved", []string{"approvals:TestAClockThatJumpsIsNoSilence", "cmd/holdgate/e2e:TestAClockThatJumpsLetsNothingThrough"}},
	{"000", "silence never approves: no channel reaches people", []string{"approvals:TestSilenceOfPeopleWhoWereNotToldIsNone", "approvals:TestTheWindowDoesNotEndWhileNoChannelReachesPeople"}},
	{"000", "silence never approves: a flood of calls", []string{"approvals:TestAnAgentHasOneCallThatSilenceMayApprove"}},
	{"000", "silence never approves: scored by the agent itself", []string{"rego:TestAnAgentsOwnScoreLetsNoSilenceApprove"}},

	{"001", "a request is approved, denied or times out", []string{"proxy:TestGatesAreAnsweredInEachWay", "approvals:TestWhatSilenceDoes"}},
	{"001", "grant and deny with a message or a reason", []string{"cmd/holdgate/cli/testdata/approve.txt", "cmd/holdgate/cli/testdata/deny.txt"}},
	{"001", "pause, resume, stop, redirect, at any time", []string{"cmd/holdgate/cli/testdata/interventions.txt", "cmd/holdgate/e2e:TestAgentsGoThroughASession", "proxy/gate:TestAPausedAgentsRequestsWaitInLine", "proxy/gate:TestAStopEndsAFlowingStreamAndCancelsWhatItHolds"}},
	{"001", "policies always, never, conditional", []string{"rego:TestPackOnTools", "policies/tools/tools_test.rego"}},
	{"001", "the default policy asks about what destroys and lets ordinary work through", []string{"rego:TestPackLetsOrdinaryCommandsThrough", "rego:TestPackLetsNothingDestructiveThrough"}},
	{"001", "many requests at once", []string{"approvals:TestOneOutcomeAndOneUseWhateverTheInterleaving", "cmd/holdgate/launch:TestSeveralRequestsAreAskedOneAfterTheOther"}},
	{"001", "message formats over channels", []string{"plugins/webhook:TestAnEventIsSignedAndSaysEverything"}},
	{"001", "an audit of all of it", []string{"cmd/holdgate/cli/testdata/audit.txt"}},
	{"001", "several people, delegation, roles", []string{"approvals:TestAQuorumIsOfPeopleAndNotOfChannels", "approvals:TestDelegation", "approvals:TestWhoMayDoWhat", "cmd/holdgate/cli/testdata/people.txt"}},
	{"001", "learning from past approvals", []string{"rego/learn:TestSuggestNamesWhatPeopleAlwaysApprove", "rego/learn:TestSuggestLoosensNothingThatWasDenied", "cmd/holdgate/cli/testdata/learn.txt", "proxy:TestAfterEnoughApprovalsPolicyApproves", "approvals:TestWhatIsNeverLearned", "approvals:TestANoUnlearns", "cmd/holdgate/cli/testdata/learned.txt"}},
	{"001", "analytics of approvals", []string{"approvals/stats:TestStatsCountHowQuestionsEnded", "cmd/holdgate/cli/testdata/stats.txt"}},

	{"002", "confidence reports with a threshold and escalation, each switchable", []string{"proxy:TestAReportBelowTheLineOpensAGateAndChangesWaitForIt", "proxy:TestReportsAreSwitchable"}},
	{"002", "a report of no trust at all pauses", []string{"proxy:TestAReportOfNoTrustAtAllPausesTheSession"}},
	{"002", "gate 0 before coding", []string{"cmd/holdgate/e2e:TestAScriptPassesGates", "cmd/holdgate/e2e:TestAScriptGoesThroughASession", "cmd/holdgate/e2e:TestAgentsGoThroughASession", "policies/gates/gates_test.rego"}},
	{"002", "mandatory, conditional and advisory gates", []string{"proxy/gate:TestAnAdvisoryGateIsToldAndHoldsNothing", "policies/gates/gates_test.rego"}},
	{"002", "steer on every gate, with instructions and artifacts", []string{"proxy:TestGatesAreAnsweredInEachWay", "cmd/holdgate/cli/testdata/steer.txt"}},
	{"002", "constraint exception: expand, reduce, abort", []string{"proxy:TestAChoiceAtAGate"}},
	{"002", "a briefing made on the server", []string{"approvals/briefing:TestTheSummarySaysWhatHappens"}},
	{"002", "tools for agents over MCP", []string{"cmd/holdgate/e2e:TestAnAgentAsksAPersonOverMCP", "proxy:TestAgentsAskWhereTheyStandOverMCP"}},
	{"002", "its errors", []string{"proxy:TestTheAgentsAPIRefusesWhatIsWrong", "cmd/holdgate/cli/testdata/steer.txt"}},
	{"002", "all decisions are audited", []string{"cmd/holdgate/cli/testdata/audit.txt"}},

	{"003", "steer with a message, and approve and reject with the run found by itself", []string{"cmd/holdgate/cli/testdata/steer.txt", "cmd/holdgate/cli/testdata/approve.txt", "cmd/holdgate/cli/testdata/deny.txt"}},
	{"003", "steer alone is interactive", []string{"cmd/holdgate/cli:TestSteerAloneIsInteractive"}},
	{"003", "gates with their settings", []string{"approvals/sessions:TestWhatAConfigurationSaysOfGates", "cmd/holdgate/e2e:TestAScriptPassesGates"}},
	{"003", "a gate that is off passes", []string{"proxy:TestAGateThatIsOffPassesAtOnce"}},
	{"003", "run --interactive", []string{"cmd/holdgate/e2e:TestRunInteractiveStopsAtItsGates"}},
	{"003", "conditional gates", []string{"proxy/gate:TestAGateUnderACondition", "policies/gates/conditions_test.rego", "cmd/holdgate/config:TestAGatesConditionIsRead"}},
	{"003", "two-way clarification", []string{"cmd/holdgate/e2e:TestClarificationGoesBothWays"}},
	{"003", "messages both ways", []string{"cmd/holdgate/cli/testdata/messages.txt", "proxy/model:TestWhatPeopleSayIsDeliveredOnce"}},
	{"003", "helpful answers where nothing is pending or no agent was seen", []string{"cmd/holdgate/cli/testdata/pending.txt", "cmd/holdgate/cli/testdata/steer.txt"}},
	{"003", "edit requests", []string{"cmd/holdgate/cli/testdata/edit.txt", "cmd/holdgate/e2e:TestClaudeCodeRunsWhatAPersonMadeOfItsCall"}},
	{"003", "who may approve what", []string{"approvals:TestWhoMayDoWhat"}},

	{"004", "approval and choice, with a text of one's own", []string{"cmd/holdgate/cli/testdata/choose.txt", "approvals/api:TestAChoiceIsAnsweredWithOneOfItsOptions"}},
	{"004", "several in sequence, branching on the answer", []string{"rego:TestPackAsksOneQuestionAfterTheOther"}},
	{"004", "null means skip: a question that a condition leaves out is not asked", []string{"rego:TestPackOnConfidenceAndModes", "policies/gates/gates_test.rego"}},
	{"004", "refine loops: a gate asked again shows what was said before", []string{"proxy:TestGatesAreAnsweredInEachWay"}},
	{"004", "events when a person is asked and has answered", []string{"approvals/api:TestEventsComeAsTheyHappenAndResume"}},
	{"004", "a handler for tests, which answers everything by itself", []string{"cmd/holdgate/e2e:TestServeAnswersEverythingByItself", "cmd/holdgate/e2e:TestServeRefusesWhatItDoesNotUnderstand"}},
	{"004", "a handler for a terminal", []string{"plugins/terminal:TestAnswers"}},
}

func TestEveryRequirementNamesItsTests(t *testing.T) {
	for _, r := range requirements {
		for _, name := range r.tests {
			folder, test, isGo := strings.Cut(name, ":")
			switch {
			case !isGo:
				if _, err := os.Stat(name); err != nil {
					t.Errorf("%s, %s: %v", r.seed, r.what, err)
				}
			case !slices.Contains(testsIn(t, folder), test):
				t.Errorf("%s, %s: %s has no test %s", r.seed, r.what, folder, test)
			}
		}
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}
