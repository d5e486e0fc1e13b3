package helm

import (
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// podOf is an object's pod, nil where it has none.
func podOf(object any) *core.PodSpec {
	switch o := object.(type) {
	case *core.Pod:
		return &o.Spec
	case *apps.Deployment:
		return &o.Spec.Template.Spec
	case *apps.StatefulSet:
		return &o.Spec.Template.Spec
	case *apps.DaemonSet:
		return &o.Spec.Template.Spec
	case *apps.ReplicaSet:
		return &o.Spec.Template.Spec
	case *batch.Job:
		return &o.Spec.Template.Spec
	case *batch.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec
	}
	return nil
}
